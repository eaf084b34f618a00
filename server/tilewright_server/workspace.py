"""The open documents, in place of pygls's own model of them.

pygls splits lines where LSP does not, which shifts every later line and corrupts its copy at the
next edit; these classes keep its interface and replace what it does.
"""

from typing import Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from tilewright_server import positions
from tilewright_server.lines import LineTable
from tilewright_server.notebooks import Notebooks, Source, code_cells
from tilewright_server.positions import Encoding
from tilewright_server.snapshot import Snapshot


def apply_change(
    text: str, change: types.TextDocumentContentChangeEvent, kind: Encoding, table: LineTable
) -> str:
    """The text after one content change, ranged or whole; ``table`` has its lines before."""
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return change.text
    start = positions.to_offset(table, change.range.start, kind)
    end = positions.to_offset(table, change.range.end, kind)
    start, end = min(start, end), max(start, end)
    return text[:start] + change.text + text[end:]


class SnapshotDocument(TextDocument):
    """A document that can be asked for its present version as a ``Snapshot``."""

    _snapshot: Snapshot | None = None

    @property
    def encoding(self) -> Encoding:
        return Encoding.from_kind(self.position_codec.encoding)

    @property
    def snapshot(self) -> Snapshot:
        """The present version; the same object until the next change."""
        if self._snapshot is None or self._snapshot.version != self.version:
            self._snapshot = Snapshot(
                uri=self.uri,
                path=self.path if self.uri.startswith("file:") else None,
                version=self.version,
                language=self.language_id,
                text=self.source,
                encoding=self.encoding,
            )
        return self._snapshot

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self.snapshot.table.full_lines())

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        self._source = apply_change(self.source, change, self.encoding, self.snapshot.table)
        self._snapshot = None


class SnapshotWorkspace(Workspace):
    """A workspace of ``SnapshotDocument``; documents that are not open are not read from disk."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._notebooks = Notebooks()

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> SnapshotDocument:
        return SnapshotDocument(
            doc_uri,
            source=source,
            version=version,
            language_id=language_id,
            sync_kind=self._sync_kind,
            position_codec=self._position_codec,
        )

    def snapshot(self, uri: str) -> Snapshot | None:
        """The present version of an open document; None if the client has not opened it."""
        document = self.text_documents.get(unquote(uri))
        if not isinstance(document, SnapshotDocument):
            return None
        notebook = self.get_notebook_document(cell_uri=uri)
        if notebook is None:
            return document.snapshot
        cells = code_cells(notebook, self._source)
        return self._notebooks.snapshot(document.uri, notebook, tuple(cells), document.encoding)

    def snapshots(self) -> tuple[Snapshot, ...]:
        """The present version of every open document."""
        found = (self.snapshot(uri) for uri in tuple(self.text_documents))
        return tuple(snapshot for snapshot in found if snapshot is not None)

    def cells_beside(self, uri: str) -> tuple[str, ...]:
        """The documents of all cells of a notebook."""
        notebook = self.get_notebook_document(notebook_uri=uri)
        return tuple(cell.document for cell in notebook.cells) if notebook is not None else ()

    def remove_notebook_document(self, params: types.DidCloseNotebookDocumentParams) -> None:
        super().remove_notebook_document(params)
        self._notebooks.forget(params.notebook_document.uri)

    def _source(self, uri: str) -> Source | None:
        document = self.text_documents.get(unquote(uri))
        if document is None:
            return None
        return Source(document.uri, document.version, document.language_id, document.source)
