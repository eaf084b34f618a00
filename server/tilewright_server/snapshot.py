"""One version of one document, as handed to everything that reads it."""

from dataclasses import dataclass
from functools import cached_property

from lsprotocol import types

from tilewright.source.notebook import in_cells
from tilewright.source.text import Range, digest
from tilewright_server import positions
from tilewright_server.lines import LineTable
from tilewright_server.positions import Encoding


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook: its document, and which lines of the notebook's Python text it is.

    ``first`` counts from 0. ``text`` is the cell's own, where ``%magic`` is not yet ``pass``.
    """

    uri: str
    version: int | None
    first: int
    count: int
    text: str


@dataclass(frozen=True)
class Snapshot:
    """An immutable document: later edits do not change it.

    The snapshot of a notebook's cell has the text of all the code cells; places are the cell's.

    Attributes:
        uri: as the client wrote it.
        path: on disk; None for documents that are nowhere on disk.
        version: the client's number for this text; None if it gives none.
        encoding: what this client counts columns in.
        cell: which part of the text the document is; None for all of it.
        cells: all parts of the text.
    """

    uri: str
    path: str | None
    version: int | None
    language: str | None
    text: str
    encoding: Encoding
    cell: Cell | None = None
    cells: tuple[Cell, ...] = ()

    @cached_property
    def table(self) -> LineTable:
        """Where the lines start."""
        return LineTable(self.text)

    @cached_property
    def readable(self) -> str:
        """The text itself, unless a lone surrogate, which no file can hold, is replaced."""
        try:
            self.text.encode()
        except UnicodeEncodeError:
            return self.text.encode(errors="replace").decode()
        return self.text

    @cached_property
    def hash(self) -> str:
        """The identity of the readable text."""
        return digest(self.readable)

    @property
    def is_python(self) -> bool:
        return self.language in (None, "", "python")

    def to_lsp(self, place: Range) -> types.Range:
        """An engine range in this client's units; what is beyond the document is cut off."""
        found = positions.to_range(self.table, place, self.encoding)
        if self.cell is None:
            return found
        return types.Range(self._in_cell(found.start), self._in_cell(found.end))

    def place(self, position: types.Position) -> tuple[int, int]:
        """An LSP position as (1-based line, code-point column)."""
        return positions.from_position(self.table, self._in_text(position), self.encoding)

    def from_lsp(self, place: types.Range) -> Range:
        """A client's range as the engine's."""
        start, end = self._in_text(place.start), self._in_text(place.end)
        return positions.from_range(self.table, types.Range(start, end), self.encoding)

    def holds(self, line: int) -> bool:
        """Whether a 1-based line of the text belongs to this document."""
        cell = self.cell
        return cell is None or cell.first < line <= cell.first + cell.count

    def with_own_lines(self, message: str, line: int) -> str:
        """A message about a 1-based line of the text, with lines as this document counts them."""
        firsts = [cell.first + 1 for cell in self.cells]
        return message if self.cell is None else in_cells(message, line, firsts)

    def _in_text(self, position: types.Position) -> types.Position:
        if self.cell is None:
            return position
        line = min(position.line, self.cell.count - 1) + self.cell.first
        return types.Position(line, position.character)

    def _in_cell(self, position: types.Position) -> types.Position:
        cell = self.cell
        if cell is None:
            return position
        if position.line < cell.first:
            return types.Position(0, 0)
        if position.line < cell.first + cell.count:
            return types.Position(position.line - cell.first, position.character)
        last = self.table.line(cell.first + cell.count - 1)
        width = positions.to_units(last, len(last), self.encoding)
        return types.Position(cell.count - 1, width)
