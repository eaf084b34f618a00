"""Columns in the three units a client may count in, and the engine's places as LSP's.

The engine counts lines from 1 and columns in code points; LSP counts lines from 0 and columns in
UTF-8, UTF-16 or UTF-32 units. This module is the one place where the two meet.
"""

from enum import StrEnum

from lsprotocol import types

from tilewright.source.text import Range
from tilewright_server.lines import LineTable


class Encoding(StrEnum):
    """What a client counts columns in."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"

    @classmethod
    def from_kind(cls, kind: types.PositionEncodingKind | str | None) -> "Encoding":
        """The negotiated encoding; UTF-16 where none was, as LSP says."""
        if kind is None:
            return cls.UTF16
        return cls(kind.value if isinstance(kind, types.PositionEncodingKind) else kind)


def _width(character: str, encoding: Encoding) -> int:
    point = ord(character)
    if encoding is Encoding.UTF32:
        return 1
    if encoding is Encoding.UTF16:
        return 2 if point > 0xFFFF else 1
    return 1 + (point > 0x7F) + (point > 0x7FF) + (point > 0xFFFF)


def to_units(line: str, column: int, encoding: Encoding) -> int:
    """Units before a code-point column; a column past the end counts as the end."""
    if encoding is Encoding.UTF32 or line.isascii():
        return min(column, len(line))
    return sum(_width(character, encoding) for character in line[:column])


def from_units(line: str, units: int, encoding: Encoding) -> int:
    """The code-point column at so many units; inside a character, that character's start."""
    if encoding is Encoding.UTF32 or line.isascii():
        return min(units, len(line))
    used = 0
    for column, character in enumerate(line):
        used += _width(character, encoding)
        if used > units:
            return column
    return len(line)


def to_position(table: LineTable, line: int, column: int, encoding: Encoding) -> types.Position:
    """An engine place (1-based line, code points) as LSP's; past the text it is the text's end."""
    row = min(line - 1, table.count - 1)
    wanted = column if row == line - 1 else len(table.line(row))
    return types.Position(line=row, character=to_units(table.line(row), wanted, encoding))


def to_range(table: LineTable, place: Range, encoding: Encoding) -> types.Range:
    """An engine range as LSP's."""
    return types.Range(
        start=to_position(table, place.line, place.column, encoding),
        end=to_position(table, place.end_line, place.end_column, encoding),
    )


def from_position(
    table: LineTable, position: types.Position, encoding: Encoding
) -> tuple[int, int]:
    """An LSP position as the engine's (1-based line, code-point column), clamped to the text."""
    if position.line >= table.count:
        return table.count, len(table.line(table.count - 1))
    line = table.line(position.line)
    return position.line + 1, from_units(line, position.character, encoding)


def from_range(table: LineTable, place: types.Range, encoding: Encoding) -> Range:
    """An LSP range as the engine's."""
    return Range(
        *from_position(table, place.start, encoding), *from_position(table, place.end, encoding)
    )


def to_offset(table: LineTable, position: types.Position, encoding: Encoding) -> int:
    """How many code points of the text stand before an LSP position, clamped to the text."""
    line, column = from_position(table, position, encoding)
    return table.start(line - 1) + column
