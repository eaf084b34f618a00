"""``notebookDocument/*``: what one cell says may matter in every other."""

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


def notebook_did_open(
    server: "TilewrightServer", params: types.DidOpenNotebookDocumentParams
) -> None:
    """Publish at once."""
    for document in params.cell_text_documents:
        server.publisher.schedule(document.uri, delay_s=0.0)


def notebook_did_change(
    server: "TilewrightServer", params: types.DidChangeNotebookDocumentParams
) -> None:
    """Publish every cell when the typing pauses."""
    cells = params.change.cells
    structure = cells.structure if cells is not None else None
    for closed in (structure.did_close if structure is not None else None) or ():
        server.publisher.close(closed.uri)
    server.publisher.schedule_refresh()
    for uri in server.cells_of(params.notebook_document.uri):
        server.publisher.schedule(uri)


def notebook_did_close(
    server: "TilewrightServer", params: types.DidCloseNotebookDocumentParams
) -> None:
    """Take the diagnostics away."""
    for document in params.cell_text_documents:
        server.publisher.close(document.uri)
