"""Launches of imported kernels: looked at when a document is opened, saved, or typing pauses.

The kernels are read as they stand in the editor, else on disk. What was found is shown for the text
that it was found in.
"""

import asyncio
from functools import partial
from pathlib import Path

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.navigation.imports import Sources
from tilewright_server.context import ServerContext
from tilewright_server.workspace_index import WorkspaceIndex

_PAUSE_S = 0.4


class ImportedLaunches:
    """Looks at documents, one after another in the thread of the index."""

    def __init__(self, server: ServerContext, index: WorkspaceIndex) -> None:
        self._server = server
        self._index = index
        self._waiting: dict[str, asyncio.TimerHandle] = {}

    def changed(self, uri: str) -> None:
        """Look at a document when its typing pauses."""
        self._forget(uri)
        loop = asyncio.get_running_loop()
        self._waiting[uri] = loop.call_later(_PAUSE_S, self.opened, uri)

    def opened(self, uri: str) -> None:
        """Look at a document."""
        self._forget(uri)
        self._server.background("importedLaunches", self._look, uri)

    def saved(self) -> None:
        """Look at every open document: one may launch kernels of the file that was written."""
        for snapshot in self._server.snapshots():
            self.opened(snapshot.uri)

    def closed(self, uri: str) -> None:
        """Drop what is pending."""
        self._forget(uri)

    def _forget(self, uri: str) -> None:
        if (timer := self._waiting.pop(uri, None)) is not None:
            timer.cancel()

    async def _look(self, uri: str) -> None:
        snapshot = self._server.snapshot(uri)
        if snapshot is None or not snapshot.is_python or snapshot.cell is not None:
            return
        if snapshot.path is None:
            return
        context = (await self._server.analyze(snapshot)).context
        path = Path(snapshot.path)
        issues = await self._index.search(path, (), partial(_issues, path, context))
        if self._server.facts.add_imported_launches(snapshot, issues):
            self._server.refresh(uri)


def _issues(
    path: Path, context: AnalysisContext, sources: Sources, _: list[Path]
) -> tuple[Issue, ...]:
    from tilewright.checking.imported_launches import imported_launches  # brings every detector

    return imported_launches(sources, path, context)
