"""The comments of a text, also of one that does not parse."""

import re
from dataclasses import dataclass

from tilewright.source.segments import STRING
from tilewright.source.text import LineIndex, Range

# Whatever begins first decides: a quote within a comment opens no string, nor the other way round.
_LEXED = re.compile(rf"(?P<comment>\#[^\n]*)|{STRING}", re.DOTALL)


@dataclass(frozen=True)
class Comment:
    """A comment with its ``#``; ``stands_alone`` if nothing is before it on its line."""

    text: str
    range: Range
    stands_alone: bool


def comments(index: LineIndex) -> tuple[Comment, ...]:
    """Every comment, in order; a ``#`` within a string is none."""
    found = (m.start() for m in _LEXED.finditer(index.text) if m.lastgroup == "comment")
    return tuple(_comment(index, offset) for offset in found)


def _comment(index: LineIndex, offset: int) -> Comment:
    line = index.line_at(offset)
    content = index.lines[line - 1]
    column = offset - index.starts[line - 1]
    where = Range(line, column, line, len(content))
    return Comment(content[column:].rstrip(), where, not content[:column].strip())
