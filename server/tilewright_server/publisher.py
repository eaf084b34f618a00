"""Push diagnostics for clients that do not pull: debounced, versioned, never stale."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from lsprotocol import types

from tilewright_server.context import ServerContext
from tilewright_server.diagnostics import all_diagnostics

DEBOUNCE_S = 0.15


class Publisher:
    """One pending publication for each document; a newer one replaces it."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._pending: dict[str, asyncio.Task[None]] = {}

    def schedule(self, uri: str, delay_s: float = DEBOUNCE_S) -> None:
        """Publish a document's diagnostics soon, unless the client pulls them."""
        if self._server.client.pull_diagnostics:
            return
        self._start(uri, self._publish(uri, delay_s))

    def schedule_refresh(self) -> None:
        """Ask a client that pulls to do so for all documents, when the typing pauses."""
        if self._server.client.pull_diagnostics and self._server.client.diagnostic_refresh:
            self._start("", self._refresh())

    def _start(self, uri: str, work: Coroutine[Any, Any, None]) -> None:
        self._drop(uri)
        task = asyncio.get_running_loop().create_task(work)
        self._pending[uri] = task
        task.add_done_callback(lambda done: self._done(uri, done))

    async def _refresh(self) -> None:
        await asyncio.sleep(DEBOUNCE_S)
        self._server.workspace_diagnostic_refresh(None)

    def close(self, uri: str) -> None:
        """Take a closed document's diagnostics away."""
        if self._server.client.pull_diagnostics:
            return
        self._drop(uri)
        empty = types.PublishDiagnosticsParams(uri=uri, diagnostics=[])
        self._server.text_document_publish_diagnostics(empty)

    def _drop(self, uri: str) -> None:
        if (task := self._pending.pop(uri, None)) is not None:
            task.cancel()

    def _done(self, uri: str, task: "asyncio.Task[None]") -> None:
        if self._pending.get(uri) is task:
            del self._pending[uri]

    async def _publish(self, uri: str, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        await self._server.guarded("publishDiagnostics", self._publish_now, uri)

    async def _publish_now(self, uri: str) -> None:
        server = self._server
        snapshot = server.snapshot(uri)
        if snapshot is None or not snapshot.is_python:
            return
        analysis = await server.analyze(snapshot)
        if server.snapshot(uri) is not snapshot:
            return
        found = all_diagnostics(snapshot, analysis, server.facts, server.settings, server.client)
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=snapshot.version)
        )
