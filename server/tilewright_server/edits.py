"""New text to minimal edits, and edits to workspace edits a client can check and preview."""

import difflib
from dataclasses import dataclass

from lsprotocol import types

from tilewright_server.capabilities import ClientFeatures
from tilewright_server.lines import LineTable
from tilewright_server.positions import to_units
from tilewright_server.snapshot import Cell, Snapshot

ANNOTATION = "tilewright"


@dataclass(frozen=True)
class Evidence:
    """What a person reads before accepting an edit, and whether they are asked."""

    label: str
    description: str
    ask: bool


def match_line_ends(old: str, new: str) -> str:
    """``new`` with the line ends of ``old`` where ``old`` has only one kind."""
    plain = new.replace("\r\n", "\n").replace("\r", "\n")
    without_crlf = old.replace("\r\n", "")
    if "\r\n" in old and "\n" not in without_crlf and "\r" not in without_crlf:
        return plain.replace("\n", "\r\n")
    if "\n" in old and "\r" not in old:
        return plain
    return new


@dataclass(frozen=True)
class Hunk:
    """Old lines ``first`` up to ``end``, counted from 0, and the text that takes their place."""

    first: int
    end: int
    new: str


def hunks(old: LineTable, new: str) -> list[Hunk]:
    """The fewest whole-line changes from one text to another, top to bottom."""
    old_lines, new_lines = old.full_lines(), LineTable(new).full_lines()
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    return [
        Hunk(i1, i2, "".join(new_lines[j1:j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def line_edits(snapshot: Snapshot, new: str) -> list[types.TextEdit]:
    """The fewest whole-line edits that turn the snapshot into ``new``, top to bottom."""
    return [
        types.TextEdit(
            range=types.Range(_line_start(snapshot, h.first), _line_start(snapshot, h.end)),
            new_text=h.new,
        )
        for h in hunks(snapshot.table, new)
    ]


def _line_start(snapshot: Snapshot, row: int) -> types.Position:
    if row < snapshot.table.count:
        return types.Position(line=row, character=0)
    last = snapshot.table.count - 1
    line = snapshot.table.line(last)
    return types.Position(line=last, character=to_units(line, len(line), snapshot.encoding))


DocumentEdits = list[tuple[types.OptionalVersionedTextDocumentIdentifier, list[types.TextEdit]]]


def document_edits(snapshot: Snapshot, new: str) -> DocumentEdits | None:
    """The edits of each document; None where a notebook's cells do not let them be made."""
    new = match_line_ends(snapshot.text, new)
    return _whole(snapshot, new) if snapshot.cell is None else cell_edits(snapshot, new)


def workspace_edit(
    snapshot: Snapshot, new: str, evidence: Evidence, client: ClientFeatures
) -> types.WorkspaceEdit:
    """The edit of a document that is a whole file."""
    return labelled(_whole(snapshot, match_line_ends(snapshot.text, new)), evidence, client)


def _whole(snapshot: Snapshot, new: str) -> DocumentEdits:
    return [(_document(snapshot.uri, snapshot.version), line_edits(snapshot, new))]


def labelled(
    edits: DocumentEdits, evidence: Evidence, client: ClientFeatures
) -> types.WorkspaceEdit:
    """Edits bound to their documents' versions and labelled, where the client supports that."""
    if not client.document_changes:
        return types.WorkspaceEdit(changes={document.uri: each for document, each in edits})
    if not client.change_annotations:
        changes = [types.TextDocumentEdit(document, list(each)) for document, each in edits]
        return types.WorkspaceEdit(document_changes=changes)
    annotation = types.ChangeAnnotation(
        label=evidence.label, description=evidence.description, needs_confirmation=evidence.ask
    )
    return types.WorkspaceEdit(
        document_changes=[_annotated(document, each) for document, each in edits],
        change_annotations={ANNOTATION: annotation},
    )


def _document(uri: str, version: int | None) -> types.OptionalVersionedTextDocumentIdentifier:
    return types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)


def _annotated(
    document: types.OptionalVersionedTextDocumentIdentifier, edits: list[types.TextEdit]
) -> types.TextDocumentEdit:
    return types.TextDocumentEdit(
        document,
        [
            types.AnnotatedTextEdit(annotation_id=ANNOTATION, range=e.range, new_text=e.new_text)
            for e in edits
        ],
    )


def cell_edits(snapshot: Snapshot, new: str) -> DocumentEdits | None:
    """The edits of each cell; None if one reaches over two, or into a line that is not Python."""
    found: dict[Cell, list[types.TextEdit]] = {}
    for hunk in hunks(snapshot.table, new):
        cell = next((c for c in snapshot.cells if _is_in(hunk, c)), None)
        if cell is None:
            return None
        if not _is_own(snapshot, cell, hunk):
            return None
        found.setdefault(cell, []).append(_cell_edit(snapshot, cell, hunk))
    return [(_document(cell.uri, cell.version), edits) for cell, edits in found.items()]


def _is_in(hunk: Hunk, cell: Cell) -> bool:
    inside = cell.first <= hunk.first < cell.first + cell.count
    return inside and hunk.end <= cell.first + cell.count


def _is_own(snapshot: Snapshot, cell: Cell, hunk: Hunk) -> bool:
    """Whether the lines are in the cell as they are, none of them in place of magic."""
    own = LineTable(cell.text)
    rows = range(hunk.first, hunk.end)
    return all(own.line(row - cell.first) == snapshot.table.line(row) for row in rows)


def _cell_edit(snapshot: Snapshot, cell: Cell, hunk: Hunk) -> types.TextEdit:
    start = types.Position(hunk.first - cell.first, 0)
    if hunk.end < cell.first + cell.count:
        end = types.Position(hunk.end - cell.first, 0)
        return types.TextEdit(types.Range(start, end), hunk.new)
    # The last line of a cell has no line end of its own.
    last = LineTable(cell.text).line(cell.count - 1)
    end = types.Position(cell.count - 1, to_units(last, len(last), snapshot.encoding))
    return types.TextEdit(types.Range(start, end), hunk.new.removesuffix("\n"))
