"""One version of one document, as handed to everything that reads it."""

from dataclasses import dataclass
from functools import cached_property

from lsprotocol import types

from tilewright.evaluation.model import text_hash
from tilewright.source.text import Range
from tilewright_server import positions
from tilewright_server.lines import LineTable
from tilewright_server.positions import Encoding


@dataclass(frozen=True)
class Snapshot:
    """An immutable document: whoever holds one is not disturbed by later edits.

    Attributes:
        uri: as the client wrote it.
        path: on disk; None for documents that are nowhere on disk.
        version: the client's number for this text; None if it gives none.
        encoding: what this client counts columns in.
    """

    uri: str
    path: str | None
    version: int | None
    language: str | None
    text: str
    encoding: Encoding

    @cached_property
    def table(self) -> LineTable:
        """Where the lines start."""
        return LineTable(self.text)

    @cached_property
    def hash(self) -> str:
        """The identity of the text. A lone surrogate, which no file can hold, is replaced first."""
        return text_hash(self.text.encode(errors="replace").decode())

    @property
    def is_python(self) -> bool:
        return self.language in (None, "", "python")

    def to_lsp(self, place: Range) -> types.Range:
        """An engine range in this client's units."""
        return positions.to_range(self.table, place, self.encoding)

    def place(self, position: types.Position) -> tuple[int, int]:
        """An LSP position as (1-based line, code-point column)."""
        return positions.from_position(self.table, position, self.encoding)

    def from_lsp(self, place: types.Range) -> Range:
        """A client's range as the engine's."""
        return positions.from_range(self.table, place, self.encoding)
