"""The state that the parts of the server share, all of it owned by the event loop.

Publishing, compiling and jobs know the server as a ``ServerContext``, which imports none of them.
"""

import asyncio
import os
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from tilewright import __version__
from tilewright_server.analysis_cache import Analysis, Parsed
from tilewright_server.backend import Engine
from tilewright_server.capabilities import ClientFeatures
from tilewright_server.certificates import Certificates
from tilewright_server.jobs.engine_host import EngineHost
from tilewright_server.jobs.manager import JobManager
from tilewright_server.jobs.run_board import RunBoard
from tilewright_server.jobs.run_journal import RunJournal
from tilewright_server.kernel_facts import KernelFactStore
from tilewright_server.last_good import HeldKernel
from tilewright_server.models import Consents, ModelKeys
from tilewright_server.notebooks import OPTIONS as NOTEBOOK_OPTIONS
from tilewright_server.projects import Project
from tilewright_server.requests import TilewrightProtocol, Timings, guard_async
from tilewright_server.settings import Settings
from tilewright_server.snapshot import Snapshot
from tilewright_server.waiting_edits import WaitingEdits
from tilewright_server.workspace import SnapshotWorkspace

Result = TypeVar("Result")


class ServerContext(LanguageServer):
    """What the server knows, and what its parts ask of each other.

    Attributes:
        client: what the client can do; known from ``initialize`` on.
        settings: valid at every moment, defaults at first; ``revision`` counts their changes.
        folder_settings: those of the client's folders, by URI, where it has several.
        triton: the user's Triton as (major, minor), None until known.
    """

    protocol: TilewrightProtocol
    jobs: JobManager

    def __init__(
        self, engine: Engine, engine_command: Sequence[str], host_command: Sequence[str]
    ) -> None:
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
        self.host = EngineHost(
            engine_command, host_command, lambda said: self.warn(f"Tilewright: {said}")
        )
        self.client = ClientFeatures()
        self.settings = Settings()
        self.folder_settings: Mapping[str, Settings] = {}
        self.model_keys = ModelKeys(os.environ)
        self.consents = Consents()
        self.initial_options: Any = None
        self.revision = 0
        self.triton: tuple[int, int] | None = None
        self.facts = KernelFactStore()
        self.runs = RunBoard(lambda method, value: self.protocol.notify(method, value))
        self.journal = RunJournal()
        self.waiting_edits = WaitingEdits()
        self.timings = Timings()
        self.pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="tilewright")
        self.certificates = Certificates(self.pool)
        self._tasks: set[asyncio.Task[Any]] = set()

    @abstractmethod
    async def parse(self, snapshot: Snapshot) -> Parsed:
        """The kernels of a snapshot, before anything is said of them."""

    @abstractmethod
    async def analyze(self, snapshot: Snapshot) -> Analysis:
        """The instant tier's view of a snapshot, with launches that were captured meanwhile."""

    @abstractmethod
    def held_kernels(self, snapshot: Snapshot, analysis: Analysis) -> tuple[HeldKernel, ...]:
        """The kernels that do not parse in this text, as they were when they last did."""

    @abstractmethod
    async def project(self, snapshot: Snapshot) -> Project:
        """What the files around a document say of it; what is wrong with them is shown."""

    @abstractmethod
    async def pick_target(self, snapshot: Snapshot) -> str:
        """What to compile a document for."""

    @abstractmethod
    def refresh(self, uri: str | None = None) -> None:
        """Show new facts that do not come from the text: for one document, or for all."""

    def settings_of(self, uri: str) -> Settings:
        """The settings of the innermost folder of the client that a document lies in."""
        around = [f for f in self.folder_settings if f"{uri}/".startswith(f"{f.rstrip('/')}/")]
        return self.folder_settings[max(around, key=len)] if around else self.settings

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

    async def read(self, uri: str) -> tuple[Snapshot, Analysis] | None:
        """An open Python document and its analysis; None for other documents."""
        snapshot = self.snapshot(uri)
        if snapshot is None or not snapshot.is_python:
            return None
        return snapshot, await self.analyze(snapshot)

    async def in_pool(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run what may take milliseconds where it does not hold up the loop."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, work, *arguments)

    def background(self, name: str, handler: Callable[..., Awaitable[Any]], *args: Any) -> None:
        """Start guarded work and keep hold of it until it is done."""
        work = guard_async(name, handler, self.timings)(*args)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def warn(self, message: str) -> None:
        """A message a person should see."""
        self.inform(message, types.MessageType.Warning)

    def inform(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """A message that asks for nothing."""
        self.window_show_message(types.ShowMessageParams(type=kind, message=message))
