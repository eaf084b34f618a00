"""New text to minimal edits, and edits to workspace edits a client can check and preview."""

import difflib
from dataclasses import dataclass

from lsprotocol import types

from tilewright_server.capabilities import ClientFeatures
from tilewright_server.lines import LineTable
from tilewright_server.positions import to_units
from tilewright_server.snapshot import Snapshot

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


def line_edits(snapshot: Snapshot, new: str) -> list[types.TextEdit]:
    """The fewest whole-line edits that turn the snapshot into ``new``, top to bottom."""
    old_lines = snapshot.table.full_lines()
    new_lines = LineTable(new).full_lines()
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    return [
        types.TextEdit(
            range=types.Range(start=_line_start(snapshot, i1), end=_line_start(snapshot, i2)),
            new_text="".join(new_lines[j1:j2]),
        )
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _line_start(snapshot: Snapshot, row: int) -> types.Position:
    if row < snapshot.table.count:
        return types.Position(line=row, character=0)
    last = snapshot.table.count - 1
    line = snapshot.table.line(last)
    return types.Position(line=last, character=to_units(line, len(line), snapshot.encoding))


def workspace_edit(
    snapshot: Snapshot, new: str, evidence: Evidence, client: ClientFeatures
) -> types.WorkspaceEdit:
    """An edit bound to the snapshot's version and labelled, where the client supports that."""
    edits = line_edits(snapshot, match_line_ends(snapshot.text, new))
    if not client.document_changes:
        return types.WorkspaceEdit(changes={snapshot.uri: edits})
    document = types.OptionalVersionedTextDocumentIdentifier(
        uri=snapshot.uri, version=snapshot.version
    )
    if not client.change_annotations:
        change = types.TextDocumentEdit(text_document=document, edits=list(edits))
        return types.WorkspaceEdit(document_changes=[change])
    annotated = [
        types.AnnotatedTextEdit(annotation_id=ANNOTATION, range=e.range, new_text=e.new_text)
        for e in edits
    ]
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(text_document=document, edits=list(annotated))],
        change_annotations={
            ANNOTATION: types.ChangeAnnotation(
                label=evidence.label,
                description=evidence.description,
                needs_confirmation=evidence.ask,
            )
        },
    )
