"""The diagnostics of open documents, as clients pull them (``diagnostic``) or have them pushed.

What is pushed is of the newest version, and only if it changed. There is no fixed delay: the first
edit is analyzed at once, and edits that arrive meanwhile are analyzed together when that has ended.
"""

import asyncio
import hashlib

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tilewright_server.context import ServerContext
from tilewright_server.diagnostics import Known, all_diagnostics
from tilewright_server.requests import guard_async
from tilewright_server.snapshot import Snapshot

OPTIONS = types.DiagnosticOptions(
    identifier="tilewright", inter_file_dependencies=False, workspace_diagnostics=False
)

_REFRESH_S = 0.15


class Publisher:
    """One publication at a time for each document."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._running: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._refreshing: asyncio.TimerHandle | None = None
        self._shown: dict[str, list[types.Diagnostic]] = {}

    def schedule(self, uri: str) -> None:
        """Publish a document's diagnostics, unless the client pulls them."""
        if self._server.client.pull_diagnostics:
            return
        if uri in self._running:
            self._again.add(uri)
            return
        task = asyncio.get_running_loop().create_task(self._publish(uri))
        self._running[uri] = task
        task.add_done_callback(lambda done: self._finish_task(uri, done))

    def schedule_refresh(self) -> None:
        """Ask a client that pulls to do so for all documents, when the typing pauses."""
        client = self._server.client
        if client.pull_diagnostics and client.diagnostic_refresh:
            if self._refreshing is not None:
                self._refreshing.cancel()
            loop = asyncio.get_running_loop()
            self._refreshing = loop.call_later(_REFRESH_S, self._refresh)

    def _refresh(self) -> None:
        self._refreshing = None
        self._server.workspace_diagnostic_refresh(None)

    def close(self, uri: str) -> None:
        """Take a closed document's diagnostics away."""
        if self._server.client.pull_diagnostics:
            return
        if (task := self._running.pop(uri, None)) is not None:
            task.cancel()
        self._again.discard(uri)
        self._shown.pop(uri, None)
        empty = types.PublishDiagnosticsParams(uri=uri, diagnostics=[])
        self._server.text_document_publish_diagnostics(empty)

    def _finish_task(self, uri: str, task: "asyncio.Task[None]") -> None:
        if self._running.get(uri) is task:
            del self._running[uri]
            if uri in self._again:
                self._again.discard(uri)
                self.schedule(uri)

    async def _publish(self, uri: str) -> None:
        await guard_async("publishDiagnostics", self._publish_now, self._server.timings)(uri)

    async def _publish_now(self, uri: str) -> None:
        server = self._server
        snapshot = server.snapshot(uri)
        if snapshot is None or not snapshot.is_python:
            return
        found = await _current(server, snapshot)
        if found is None or self._shown.get(uri) == found:
            return
        self._shown[uri] = found
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=snapshot.version)
        )


async def diagnostic(
    server: ServerContext, params: types.DocumentDiagnosticParams
) -> types.DocumentDiagnosticReport:
    """``textDocument/diagnostic``: both tiers of one document, "unchanged" when nothing is new."""
    snapshot = server.snapshot(params.text_document.uri)
    if snapshot is None or not snapshot.is_python:
        return no_diagnostics()
    known = _result_id(server, snapshot)
    if params.previous_result_id == known:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id=known)
    found = await _current(server, snapshot)
    if found is None:
        raise _overtaken()
    return types.RelatedFullDocumentDiagnosticReport(items=found, result_id=known)


def no_diagnostics(*_: object) -> types.DocumentDiagnosticReport:
    """The answer when the analysis failed: a report, since the protocol knows no other."""
    return types.RelatedFullDocumentDiagnosticReport(items=[])


async def _current(server: ServerContext, snapshot: Snapshot) -> list[types.Diagnostic] | None:
    """The diagnostics of a document; None if it has changed while it was read."""
    analysis = await server.analyze(snapshot)
    if server.snapshot(snapshot.uri) is not snapshot:
        return None
    held = server.held_kernels(snapshot, analysis)
    known = Known(server.facts, server.settings, server.client, held)
    return all_diagnostics(snapshot, analysis, known)


def _result_id(server: ServerContext, snapshot: Snapshot) -> str:
    """The identity of everything an answer depends on."""
    parts = (snapshot.hash, str(server.revision), str(server.facts.revision))
    return hashlib.sha256(":".join(parts).encode()).hexdigest()[:16]


def _overtaken() -> JsonRpcException:
    """The document changed while it was read: LSP's way to ask for the question again."""
    again = types.DiagnosticServerCancellationData(retrigger_request=True)
    return JsonRpcException(
        "the document has changed", types.LSPErrorCodes.ServerCancelled.value, again
    )
