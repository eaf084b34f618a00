"""``textDocument/didChange``; the text itself is already up to date."""

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


def did_change(server: "TilewrightServer", params: types.DidChangeTextDocumentParams) -> None:
    """Publish when the typing pauses."""
    server.publisher.schedule(params.text_document.uri)
    server.compiling.changed(params.text_document.uri)
