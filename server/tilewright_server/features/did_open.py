"""``textDocument/didOpen``."""

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


def did_open(server: "TilewrightServer", params: types.DidOpenTextDocumentParams) -> None:
    """Publish at once, without the delay for typing; compile the opened file."""
    server.publisher.schedule(params.text_document.uri, delay_s=0.0)
    server.compiling.opened(params.text_document.uri)
