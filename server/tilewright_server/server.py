"""The server object that handlers get: what it knows of a document, the jobs it starts."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tilewright.analysis.model import AnalysisContext
from tilewright.checking.file_watch import FileWatch
from tilewright.checking.target import Origin
from tilewright_server.analysis_cache import Analysis, AnalysisService, Parsed
from tilewright_server.backend import Engine
from tilewright_server.background_compile import Compiling
from tilewright_server.chip import ChipChoice
from tilewright_server.context import ServerContext
from tilewright_server.fixes import FixService
from tilewright_server.idle_collection import IdleCollection
from tilewright_server.imported_launches import ImportedLaunches
from tilewright_server.jobs.fix_verification import AppliedFixes
from tilewright_server.jobs.manager import JobManager
from tilewright_server.jobs.notify import announce
from tilewright_server.jobs.run_watch import RunWatch
from tilewright_server.last_good import HeldKernel, LastGood
from tilewright_server.projects import Project, ProjectFaults, Projects
from tilewright_server.publisher import Publisher
from tilewright_server.rule_pages import RulePages
from tilewright_server.sent_tokens import SentTokens
from tilewright_server.snapshot import Snapshot
from tilewright_server.workspace_index import WorkspaceIndex

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_STATED = (Origin.ASKED, Origin.FILE, Origin.SETTINGS)
"""Who names a chip that findings may be about; what is here says nothing of the text."""

_ANSWERS = (
    types.LSPErrorCodes.RequestFailed.value,
    types.LSPErrorCodes.ContentModified.value,
    types.LSPErrorCodes.ServerCancelled.value,
)
_PAGES_AFTER_S = 1.0


class TilewrightServer(ServerContext):
    """A language server for tile kernels: the shared state, and what works on it."""

    def __init__(
        self, engine: Engine, engine_command: Sequence[str], host_command: Sequence[str]
    ) -> None:
        super().__init__(engine, engine_command, host_command)
        self.jobs = JobManager(self.timings, partial(announce, self))
        self.publisher = Publisher(self)
        self.fixes = FixService(self.pool)
        self._analysis = AnalysisService(engine, self.pool)
        self._projects = Projects(self.pool)
        self._faults = ProjectFaults(self)
        self.compiling = Compiling(self)
        self.run_watch = RunWatch(self)
        self.applied_fixes = AppliedFixes(self)
        self.chip = ChipChoice(self)
        self.pages = RulePages()
        self.index = WorkspaceIndex(self)
        self.launches = ImportedLaunches(self, self.index)
        self.watch: FileWatch | None = None
        self.sent_tokens = SentTokens()
        self.last_good = LastGood()
        self.collection = IdleCollection()

    async def parse(self, snapshot: Snapshot) -> Parsed:
        """The kernels of a snapshot, before anything is said of them."""
        return await self._analysis.parse(snapshot)

    async def analyze(self, snapshot: Snapshot) -> Analysis:
        """The instant tier's view of a snapshot, with launches that were captured meanwhile."""
        project = await self.project(snapshot)
        parsed = await self.parse(snapshot)
        chosen = self.chip.now(snapshot, parsed, project)
        context = AnalysisContext(
            target=chosen.target if chosen.origin in _STATED else None,
            triton_version=project.triton or self.triton,
            launches=self.facts.launches(parsed, snapshot),
            entry=project.entry,
        )
        found = await self._analysis.analyze(snapshot, parsed, context, project.silenced)
        self.last_good.remember(snapshot.uri, found)
        self._write_pages(found)
        return found

    def held_kernels(self, snapshot: Snapshot, analysis: Analysis) -> tuple[HeldKernel, ...]:
        """The kernels that do not parse in this text, as they were when they last did."""
        return tuple(self.last_good.held_kernels(snapshot.uri, analysis))

    def _write_pages(self, analysis: Analysis) -> None:
        """Write the pages that diagnostics of an analysis link to, off the event loop."""
        if self.settings.docs_url == self.pages.base:
            lacking = self.pages.lacking({issue.id for issue in analysis.issues})
            if lacking:
                self.background("rulePages", self._write_later, lacking)

    async def _write_later(self, rules: frozenset[str]) -> None:
        # Reading the patterns takes longer than an answer may wait.
        await asyncio.sleep(_PAGES_AFTER_S)
        await self.in_pool(self.pages.write, rules)

    async def project(self, snapshot: Snapshot) -> Project:
        """What the files around a document say of it; what is wrong with them is shown."""
        project = await self._projects.project_of(snapshot.path)
        self._faults.show(self._projects.faults)
        return project

    async def read_projects_again(self) -> None:
        """A file next to the documents changed: apply its new contents."""
        paths = dict.fromkeys(s.path for s in self.snapshots() if s.path is not None)
        changed = await self._projects.read_again(paths)
        self._faults.show(self._projects.faults)
        if changed:
            self.revision += 1
            self.refresh()

    async def pick_target(self, snapshot: Snapshot) -> str:
        """What to compile a document for."""
        return str((await self.chip.target_of(snapshot)).target)

    def refresh(self, uri: str | None = None) -> None:
        """Show new facts that do not come from the text: for one document, or for all."""
        uris = [uri] if uri is not None else [snapshot.uri for snapshot in self.snapshots()]
        for each in uris:
            self.publisher.schedule(each)
        if self.client.pull_diagnostics and self.client.diagnostic_refresh:
            self.workspace_diagnostic_refresh(None)
        if self.client.code_lens_refresh:
            self.workspace_code_lens_refresh(None)
        if self.client.inlay_hint_refresh:
            self.workspace_inlay_hint_refresh(None)
        if self.client.semantic_tokens_refresh:
            self.workspace_semantic_tokens_refresh(None)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Into the log; pygls's way is a pop-up for each. A refusal is an answer and no error."""
        is_answer = isinstance(error, JsonRpcException) and error.code in _ANSWERS
        level = logging.INFO if is_answer else logging.ERROR
        logger.log(level, "%s: %s", getattr(source, "__name__", source), error)

    def shutdown(self) -> None:
        self.index.close()
        self.collection.close()
        if self.watch is not None:
            self.watch.close()
        self.pool.shutdown(wait=False, cancel_futures=True)
        super().shutdown()  # type: ignore[no-untyped-call]
