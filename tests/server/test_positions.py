"""Texts, columns and edits against plain reference implementations."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from tilewright.source.text import Range
from tilewright_server.capabilities import ClientFeatures
from tilewright_server.edits import Evidence, line_edits, match_line_ends, workspace_edit
from tilewright_server.lines import LineTable
from tilewright_server.positions import Encoding, from_position, from_range, to_position, to_range
from tilewright_server.snapshot import Snapshot
from tilewright_server.workspace import apply_change

CODECS = {
    Encoding.UTF8: ("utf-8", 1),
    Encoding.UTF16: ("utf-16-le", 2),
    Encoding.UTF32: ("utf-32-le", 4),
}
PIECES = st.sampled_from(
    [
        "a",
        "b = 1",
        " ",
        "\n",
        "\r\n",
        "\r",
        "\f",
        "\v",
        "\u2028",
        "\x85",
        "\x1c",
        "é",
        "你",
        "🎉",
        "👩‍💻",
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)
KINDS = st.sampled_from(list(Encoding))


def reference_lines(text: str) -> list[str]:
    """Lines without their ends, by LSP's definition of an end of line."""
    return re.split(r"\r\n|\n|\r", text)


def units(text: str, kind: Encoding) -> int:
    codec, width = CODECS[kind]
    return len(text.encode(codec)) // width


def reference_places(text: str, kind: Encoding) -> list[tuple[int, types.Position]]:
    """Every (offset, position) of a text, by walking it."""
    found, offset = [], 0
    ends = [*re.findall(r"\r\n|\n|\r", text), ""]
    for row, (line, end) in enumerate(zip(reference_lines(text), ends, strict=True)):
        for column in range(len(line) + 1):
            position = types.Position(row, units(line[:column], kind))
            found.append((offset + column, position))
        offset += len(line) + len(end)
    return found


@given(TEXTS)
def test_lines_are_lsps_lines(text: str) -> None:
    table = LineTable(text)
    assert [table.line(row) for row in range(table.count)] == reference_lines(text)
    assert "".join(table.full_lines()) == text


@given(TEXTS, KINDS, st.data())
def test_ranges_round_trip(text: str, kind: Encoding, data: st.DataObject) -> None:
    table = LineTable(text)
    places = st.sampled_from(reference_places(text, kind))
    (_, start), (_, end) = data.draw(places), data.draw(places)
    there = from_range(table, types.Range(start, end), kind)
    assert to_range(table, there, kind) == types.Range(start, end)


@given(TEXTS, KINDS, st.lists(st.tuples(st.integers(0), st.integers(0), TEXTS), max_size=8))
def test_edit_sequences_keep_the_text(
    text: str, kind: Encoding, changes: list[tuple[int, int, str]]
) -> None:
    for first, second, new in changes:
        places = reference_places(text, kind)
        (start, at), (end, to) = sorted(
            (places[first % len(places)], places[second % len(places)]), key=lambda p: p[0]
        )
        change = types.TextDocumentContentChangePartial(range=types.Range(at, to), text=new)
        expected = text[:start] + new + text[end:]
        text = apply_change(text, change, kind, LineTable(text))
        assert text == expected


@given(TEXTS, TEXTS, KINDS)
def test_line_edits_turn_old_into_new(old: str, new: str, kind: Encoding) -> None:
    snapshot = Snapshot("file:///k.py", "/k.py", 1, "python", old, kind)
    text = old
    for edit in reversed(line_edits(snapshot, new)):
        change = types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text)
        text = apply_change(text, change, kind, LineTable(text))
    assert text == new


@pytest.mark.parametrize("kind", list(Encoding))
def test_places_outside_the_text_are_clamped(kind: Encoding) -> None:
    table = LineTable("ab\n🎉c")
    assert from_position(table, types.Position(0, 99), kind) == (1, 2)
    assert from_position(table, types.Position(99, 0), kind) == (2, 2)
    assert to_position(table, 9, 3, kind) == types.Position(1, units("🎉c", kind))


def test_a_column_inside_a_character_is_its_start() -> None:
    table = LineTable("🎉c")
    assert from_position(table, types.Position(0, 1), Encoding.UTF16) == (1, 0)
    assert from_position(table, types.Position(0, 3), Encoding.UTF8) == (1, 0)


def test_engine_columns_become_utf16_units() -> None:
    table = LineTable("x = '🎉' + y")
    assert to_range(table, Range(1, 10, 1, 11), Encoding.UTF16) == types.Range(
        types.Position(0, 11), types.Position(0, 12)
    )


def test_line_ends_of_the_document_survive() -> None:
    assert match_line_ends("a\r\nb\r\n", "a\nc\n") == "a\r\nc\r\n"
    assert match_line_ends("a\nb\n", "a\r\nc\r\n") == "a\nc\n"
    assert match_line_ends("a\r\nb\n", "a\r\nc\n") == "a\r\nc\n", "mixed stays as it is given"


def test_edit_falls_back_to_what_the_client_knows() -> None:
    snapshot = Snapshot("file:///k.py", "/k.py", 7, "python", "a\nb\n", Encoding.UTF16)
    evidence = Evidence("label", "description", ask=True)
    plain = workspace_edit(snapshot, "a\nc\n", evidence, ClientFeatures())
    assert plain.changes is not None
    assert plain.document_changes is None
    versioned = workspace_edit(snapshot, "a\nc\n", evidence, ClientFeatures(document_changes=True))
    (change,) = versioned.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document.version == 7
    assert versioned.change_annotations is None
