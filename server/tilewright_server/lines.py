"""Where lines start in one text, split only where LSP splits: ``\\n``, ``\\r\\n``, ``\\r``.

``str.splitlines`` also splits at form feed, U+2028 and others and so cannot be used here.
"""

import re
from collections.abc import Sequence
from functools import cached_property

from tilewright.source.text import LineIndex

_END = re.compile(r"\r\n|\n|\r")


class LineTable:
    """The lines of an immutable text. A text that ends in a line end has an empty last line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: Sequence[int] = LineIndex(text).starts

    @property
    def count(self) -> int:
        """The number of lines, at least 1."""
        return len(self._starts)

    def start(self, row: int) -> int:
        """The offset of a 0-based line's first character."""
        return self._starts[row]

    def full_line(self, row: int) -> str:
        """A 0-based line with its line end."""
        end = self._starts[row + 1] if row + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[row] : end]

    def line(self, row: int) -> str:
        """A 0-based line without its line end."""
        line = self.full_line(row)
        if line.endswith("\r\n"):
            return line[:-2]
        return line[:-1] if line.endswith(("\n", "\r")) else line

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """All lines without their line ends."""
        return tuple(_END.split(self.text))

    def full_lines(self) -> list[str]:
        """All lines, each with its line end."""
        return [self.full_line(row) for row in range(self.count)]
