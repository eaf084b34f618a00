"""pygls's protocol where it does not do what LSP asks: workspace, shutdown, requests after it."""

import logging
from collections.abc import Generator
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidRequest
from pygls.protocol import LanguageServerProtocol, lsp_method

from tilewright_server.workspace import SnapshotWorkspace

logger = logging.getLogger(__name__)


class TilewrightProtocol(LanguageServerProtocol):
    """The protocol with an own text model and an orderly end."""

    def adopt_workspace(self, params: types.InitializeParams) -> None:
        """Put the own text model in the place of pygls's. Called by the initialize handler."""
        made = self.workspace
        self._workspace = SnapshotWorkspace(
            made.root_uri,
            types.TextDocumentSyncKind.Incremental,
            params.workspace_folders or [],
            made.position_encoding,
        )

    @property
    def is_shut_down(self) -> bool:
        """Whether the client asked for an orderly end."""
        return self._shutdown

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """Stop jobs, cancel what is still running, and take no more requests.

        pygls walks its table of running requests while cancelling them, which changes it.
        """
        if (handler := self.fm.features.get(types.SHUTDOWN)) is not None:
            yield handler, args, None
        this = self.msg_id
        for number, future in list(self._request_futures.items()):
            if number != this and not future.done():
                future.cancel()
        self._shutdown = True

    def handle_message(self, message: Any) -> None:
        """As pygls does; a request after shutdown is refused instead of left without an answer."""
        method = getattr(message, "method", None)
        if self._shutdown and method and hasattr(message, "id"):
            error = JsonRpcInvalidRequest("the server is shutting down").to_response_error()
            self._send_response(message.id, error=error)
            return
        super().handle_message(message)
