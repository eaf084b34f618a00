"""``textDocument/didClose``."""

from typing import TYPE_CHECKING

from lsprotocol import types

from tilewright_server.jobs.profile import replace_running

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


def did_close(server: "TilewrightServer", params: types.DidCloseTextDocumentParams) -> None:
    """Remove the diagnostics and stop background jobs of the document."""
    server.publisher.close(params.text_document.uri)
    replace_running(server, params.text_document.uri)
    server.compiling.closed(params.text_document.uri)
