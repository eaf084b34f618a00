"""Notebooks: the code cells of an ``.ipynb`` as one Python text, with the way back to the cells.

What only IPython understands (``%magic``, ``!command``, ``name?``) becomes ``pass``, line by
line; a cell handed to something else (``%%bash``) becomes blank lines.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.errors import InputError
from tilewright.python_syntax import parse
from tilewright.source.model import Module
from tilewright.source.parse import parse_module
from tilewright.source.text import LineIndex
from tilewright.source.tree import PARSE_ERRORS, parseable

_PYTHON_MAGICS = frozenset(("time", "timeit", "capture", "prun", "python", "python3"))
_CELL_MAGIC = re.compile(r"%%(\w+)")
_LINE_MAGIC = re.compile(r"(\s*)(?:[%!?]|\w[\w.,\s]*=\s*[%!]\S|[\w.]+\?{1,2}\s*$)")
_LINES = re.compile(r"\blines? (?:\d+(?:, | and | to )?)+")
_WAY_OUT = "save it again from Jupyter, or check the Python file made by `jupyter nbconvert`"


@dataclass(frozen=True)
class Cell:
    """A code cell: its place among all cells, 0-based, and its lines in the Python text."""

    number: int
    first: int
    lines: int


@dataclass(frozen=True)
class CellMap:
    """From places in a notebook's Python text to its cells and back. Lines are 1-based."""

    cells: tuple[Cell, ...]

    def place(self, line: int) -> tuple[int, int] | None:
        """The number of the cell, among all cells, and the line in it; None beyond the last."""
        position = bisect_right([cell.first for cell in self.cells], line) - 1
        if position < 0:
            return None
        cell = self.cells[position]
        inside = line - cell.first + 1
        return (cell.number, inside) if inside <= cell.lines else None

    def line(self, cell: int, line: int) -> int | None:
        """The line of the Python text that a line of a cell became."""
        for known in self.cells:
            if known.number == cell and 1 <= line <= known.lines:
                return known.first + line - 1
        return None


def in_cells(message: str, line: int, firsts: Sequence[int]) -> str:
    """A message whose lines count within the cells.

    Args:
        message: says lines of a notebook's Python text.
        line: the 1-based line of that text which it is about.
        firsts: the 1-based lines of that text in which its cells begin, in order.
    """
    own = bisect_right(firsts, line)

    def counted(number: re.Match[str]) -> str:
        place = bisect_right(firsts, int(number.group()))
        inside = int(number.group()) - firsts[place - 1] + 1
        if place == own:
            return str(inside)
        return f"{inside} of {'an earlier' if place < own else 'a later'} cell"

    return _LINES.sub(lambda found: re.sub(r"\d+", counted, found.group()), message)


def notebook_module(text: str, path: str) -> tuple[Module, CellMap]:
    """The module that a notebook's code cells make up, and where its lines come from.

    Raises:
        InputError: ``text`` is no notebook.
    """
    parts: list[str] = []
    cells: list[Cell] = []
    first = 1
    for number, source in _code_cells(_loaded(text, path), path):
        python = python_of_cell(source)
        lines = len(LineIndex(python).lines)
        parts.append(python)
        cells.append(Cell(number, first, lines))
        first += lines
    return parse_module("\n".join(parts), path), CellMap(tuple(cells))


def python_of_cell(source: str) -> str:
    """A cell's text as Python, with as many lines; a cell that is Python stays as it is."""
    lines = list(LineIndex(source).lines)
    start = next((k for k, line in enumerate(lines) if line.strip()), 0)
    magic = _CELL_MAGIC.match(lines[start])
    if magic is not None:
        if magic.group(1) not in _PYTHON_MAGICS:
            return "\n" * (len(lines) - 1)
        lines[start] = ""
    elif _is_python(source):
        return source
    return "\n".join(_python_of_line(line) for line in lines)


def _python_of_line(line: str) -> str:
    magic = _LINE_MAGIC.match(line)
    return line if magic is None else f"{magic.group(1) or ''}pass"


def _is_python(source: str) -> bool:
    try:
        parse(parseable(source))
    except PARSE_ERRORS:
        return False
    return True


def _loaded(text: str, path: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise InputError(f"this notebook is not JSON ({error}); {_WAY_OUT}", path, line) from error
    except RecursionError as error:
        raise InputError(f"this notebook is nested too deeply; {_WAY_OUT}", path) from error


def _code_cells(notebook: Any, path: str) -> Iterator[tuple[int, str]]:
    """Numbers and sources of code cells, of nbformat 4 and, with worksheets, 3."""
    for number, cell in enumerate(_cells(notebook, path)):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", cell.get("input", ""))
        if isinstance(source, list) and all(isinstance(line, str) for line in source):
            source = "".join(source)
        if not isinstance(source, str):
            raise InputError(f"the source of cell {number} is no text; {_WAY_OUT}", path)
        yield number, source


def _cells(notebook: Any, path: str) -> Sequence[Any]:
    found = notebook.get("cells") if isinstance(notebook, dict) else None
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    if found is None and isinstance(sheets, list):
        inner = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        found = [cell for cells in inner if isinstance(cells, list) for cell in cells]
    if not isinstance(found, list):
        raise InputError(f"this JSON has no cells, so it is no notebook; {_WAY_OUT}", path)
    return found
