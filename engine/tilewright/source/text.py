"""Places in a text. Lines are 1-based, columns 0-based code points, ends exclusive.

Nothing here knows about LSP: the server converts at its own edge.
"""

import ast
import hashlib
import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count
from operator import add

from tilewright.source.host_reads import note_host_read

_LINE_END = re.compile(r"\r\n|\r|\n")


def digest(text: str) -> str:
    """The identity of a text: first 32 hex digits of SHA-256 over its UTF-8 bytes."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]


@dataclass(frozen=True, order=True)
class Range:
    """A stretch of text from (line, column) up to but not including (end_line, end_column)."""

    line: int
    column: int
    end_line: int
    end_column: int

    def contains(self, line: int, column: int) -> bool:
        """Whether the place lies inside; the end counts as inside, as a cursor there would."""
        return (self.line, self.column) <= (line, column) <= (self.end_line, self.end_column)

    def moved(self, lines: int) -> "Range":
        """The same stretch so many lines below."""
        return Range(self.line + lines, self.column, self.end_line + lines, self.end_column)

    def overlaps(self, other: "Range") -> bool:
        return (self.line, self.column) <= (other.end_line, other.end_column) and (
            other.line,
            other.column,
        ) <= (self.end_line, self.end_column)


class LineIndex:
    """Lines of one text, split where Python's parser and LSP both do: \\n, \\r\\n, \\r.

    ``ast`` counts columns in UTF-8 bytes; ``range_of`` turns them into code points.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        plain = "\r" not in text
        self._lines: tuple[str, ...] = tuple(text.split("\n") if plain else _LINE_END.split(text))

    @property
    def text(self) -> str:
        note_host_read()
        return self._text

    @property
    def lines(self) -> tuple[str, ...]:
        note_host_read()
        return self._lines

    @cached_property
    def starts(self) -> Sequence[int]:
        """Code-point offset at which each line begins."""
        # Versions of long files are kept: numbers of an array are no objects of their own.
        found = array("q", [0])
        if "\r" not in self._text:
            found.extend(map(add, accumulate(map(len, self._lines[:-1])), count(1)))
        else:
            found.extend(match.end() for match in _LINE_END.finditer(self._text))
        return found

    def column(self, line: int, byte_column: int) -> int:
        """Code-point column of a UTF-8 byte column on a 1-based line."""
        content = self._lines[line - 1]
        if content.isascii():
            return byte_column
        return len(content.encode(errors="replace")[:byte_column].decode(errors="ignore"))

    def range_of(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> Range:
        """Where an ``ast`` node stands."""
        end_line = node.end_lineno or node.lineno
        end_column = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        return Range(
            node.lineno,
            self.column(node.lineno, node.col_offset),
            end_line,
            self.column(end_line, end_column),
        )

    def offset(self, line: int, column: int) -> int:
        """Code-point offset of a place, clipped to its line."""
        place = min(max(line, 1), len(self._lines)) - 1
        return self.starts[place] + min(max(column, 0), len(self._lines[place]))

    def line_at(self, offset: int) -> int:
        """The 1-based line that a code-point offset lies on."""
        return bisect_right(self.starts, offset)

    def slice(self, where: Range) -> str:
        """The text of a range, line ends as they stand in the file."""
        return self._text[
            self.offset(where.line, where.column) : self.offset(where.end_line, where.end_column)
        ]
