"""Engine ranges as locations and edits of the client: in a file, or in the cells of a notebook."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from lsprotocol import types
from pygls import uris

from tilewright.source.text import Range
from tilewright_server.capabilities import ClientFeatures
from tilewright_server.positions import Encoding
from tilewright_server.snapshot import Snapshot


def document_of(snapshot: Snapshot, line: int) -> Snapshot:
    """The document that a 1-based line of the text belongs to: of a notebook, its cell."""
    if snapshot.holds(line):
        return snapshot
    for cell in snapshot.cells:
        if cell.first < line <= cell.first + cell.count:
            return replace(snapshot, uri=cell.uri, version=cell.version, cell=cell)
    return snapshot


def location(snapshot: Snapshot, place: Range) -> types.Location:
    """Where a range is, for the client."""
    document = document_of(snapshot, place.line)
    return types.Location(document.uri, document.to_lsp(place))


def renaming(
    places: Iterable[tuple[Snapshot, Iterable[Range]]], new: str, client: ClientFeatures
) -> types.WorkspaceEdit:
    """An edit that writes a name at every place, for the versions that the places are of."""
    edits: dict[tuple[str, int | None], list[types.TextEdit]] = {}
    for snapshot, ranges in places:
        for place in ranges:
            document = document_of(snapshot, place.line)
            edit = types.TextEdit(document.to_lsp(place), new)
            edits.setdefault((document.uri, document.version), []).append(edit)
    if not client.document_changes:
        return types.WorkspaceEdit(changes={uri: each for (uri, _), each in edits.items()})
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, v), each)
            for (uri, v), each in edits.items()
        ]
    )


def closed_file(path: Path, text: str, encoding: Encoding) -> Snapshot:
    """A file that is not open, as it was read from disk."""
    return Snapshot(str(uris.from_fs_path(str(path))), str(path), None, None, text, encoding)
