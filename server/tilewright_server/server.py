"""The server object: the state every handler shares, all of it owned by the event loop."""

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from tilewright import __version__
from tilewright.analysis.model import AnalysisContext
from tilewright.checking.target import Origin
from tilewright_server.analysis import Analysis, AnalysisService, Parsed
from tilewright_server.boundary import guard_async
from tilewright_server.capabilities import ClientFeatures
from tilewright_server.certificates import Certificates
from tilewright_server.chip import ChipChoice
from tilewright_server.compiling import Compiling
from tilewright_server.diagnostics import all_diagnostics
from tilewright_server.engine import Engine
from tilewright_server.fact_store import KernelFactStore
from tilewright_server.fixes import FixService
from tilewright_server.jobs.finish import announce
from tilewright_server.jobs.manager import Job, JobManager
from tilewright_server.models import Consents, ModelKeys
from tilewright_server.notebooks import OPTIONS as NOTEBOOK_OPTIONS
from tilewright_server.projects import Project, ProjectFaults, Projects
from tilewright_server.protocol import TilewrightProtocol
from tilewright_server.publisher import Publisher
from tilewright_server.settings import Settings
from tilewright_server.snapshot import Snapshot
from tilewright_server.timings import Timings
from tilewright_server.workspace import SnapshotWorkspace

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_STATED = (Origin.ASKED, Origin.FILE, Origin.SETTINGS)
"""Who names a chip that findings may be about; what is here says nothing of the text."""

# -P: a file called json.py in the user's folder must not become the engine's json.
ENGINE_COMMAND = (sys.executable, "-P", "-m", "tilewright")


class TilewrightServer(LanguageServer):
    """A language server for tile kernels.

    Attributes:
        client: what the client can do; known from ``initialize`` on.
        settings: valid at every moment, defaults at first; ``revision`` counts their changes.
        triton: the user's Triton as (major, minor), None until known.
    """

    protocol: TilewrightProtocol

    def __init__(self, engine: Engine, engine_command: Sequence[str]) -> None:
        # pygls reads stdin in its own pool: two threads, used for nothing else.
        super().__init__(
            "tilewright",
            __version__,
            protocol_cls=TilewrightProtocol,
            notebook_document_sync=NOTEBOOK_OPTIONS,
            max_workers=2,
        )
        self.engine = engine
        self.engine_command = tuple(engine_command)
        self.client = ClientFeatures()
        self.settings = Settings()
        self.model_keys = ModelKeys(os.environ)
        self.consents = Consents()
        self.initial_options: Any = None
        self.revision = 0
        self.triton: tuple[int, int] | None = None
        self.facts = KernelFactStore()
        self.jobs = JobManager()
        self.timings = Timings()
        self.pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="tilewright")
        self.publisher = Publisher(self)
        self.fixes = FixService(self.pool)
        self._analysis = AnalysisService(engine, self.pool)
        self._projects = Projects(self.pool)
        self.certificates = Certificates(self.pool)
        self._faults = ProjectFaults(self)
        self.compiling = Compiling(self)
        self._tasks: set[asyncio.Task[Any]] = set()
        self.chip = ChipChoice(self)

    def snapshot(self, uri: str) -> Snapshot | None:
        """The present version of an open document."""
        workspace = self.workspace
        return workspace.snapshot(uri) if isinstance(workspace, SnapshotWorkspace) else None

    def snapshots(self) -> tuple[Snapshot, ...]:
        """The present version of every open document."""
        workspace = self.workspace
        return workspace.snapshots() if isinstance(workspace, SnapshotWorkspace) else ()

    def cells_of(self, notebook: str) -> tuple[str, ...]:
        """The documents of an open notebook's cells."""
        workspace = self.workspace
        return workspace.cells_beside(notebook) if isinstance(workspace, SnapshotWorkspace) else ()

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
        return await self._analysis.analyze(snapshot, parsed, context, project.silenced)

    def diagnostics(self, snapshot: Snapshot, analysis: Analysis) -> list[types.Diagnostic]:
        """Everything to underline in a snapshot that is known now."""
        return all_diagnostics(snapshot, analysis, self.facts, self.settings, self.client)

    async def project(self, snapshot: Snapshot) -> Project:
        """What the files around a document say of it; what is wrong with them is shown."""
        project = await self._projects.of(snapshot.path)
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

    async def read(self, uri: str) -> tuple[Snapshot, Analysis] | None:
        """An open Python document and its analysis; None for other documents."""
        snapshot = self.snapshot(uri)
        if snapshot is None or not snapshot.is_python:
            return None
        return snapshot, await self.analyze(snapshot)

    async def pick_target(self, snapshot: Snapshot) -> str:
        """What to compile a document for."""
        return str((await self.chip.of(snapshot)).target)

    def start_job(self, job: Job, work: Callable[[Job], Awaitable[None]]) -> Job:
        """Start a job whose every end is announced, also an unexpected one."""

        async def run(job: Job) -> None:
            try:
                await self.guarded(f"job.{job.kind}", work, job)
            finally:
                announce(self, job)

        return self.jobs.start(job, run)

    def refresh(self, uri: str | None = None) -> None:
        """Show new facts that do not come from the text: for one document, or for all."""
        uris = [uri] if uri is not None else [snapshot.uri for snapshot in self.snapshots()]
        for each in uris:
            self.publisher.schedule(each, delay_s=0.0)
        if self.client.pull_diagnostics and self.client.diagnostic_refresh:
            self.workspace_diagnostic_refresh(None)
        if self.client.code_lens_refresh:
            self.workspace_code_lens_refresh(None)
        if self.client.inlay_hint_refresh:
            self.workspace_inlay_hint_refresh(None)

    async def guarded(
        self, name: str, handler: Callable[..., Awaitable[Any]], *arguments: Any
    ) -> Any:
        """Run work that answers no request inside the request boundary."""
        return await guard_async(name, handler, self.timings)(*arguments)

    async def in_pool(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run what may take milliseconds where it does not hold up the loop."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, work, *arguments)

    def background(self, name: str, handler: Callable[..., Awaitable[Any]], *args: Any) -> None:
        """Start guarded work and keep hold of it until it is done."""
        task = asyncio.get_running_loop().create_task(self.guarded(name, handler, *args))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def warn(self, message: str) -> None:
        """A message a person should see."""
        self.window_show_message(
            types.ShowMessageParams(type=types.MessageType.Warning, message=message)
        )

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Into the log; pygls's way is a pop-up for each."""
        logger.error("%s: %s", getattr(source, "__name__", source), error)

    def shutdown(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
        super().shutdown()  # type: ignore[no-untyped-call]


def create_server(
    engine: Engine | None = None, engine_command: Sequence[str] = ENGINE_COMMAND
) -> TilewrightServer:
    """A server with every feature registered.

    Args:
        engine: the engine's functions; tests replace some.
        engine_command: how the engine's command line is started, without its arguments.
    """
    from tilewright_server.features import register_features

    server = TilewrightServer(engine or Engine(), engine_command)
    register_features(server)
    return server
