"""When an open document is compiled in the background: opened, saved, or changed meanwhile."""

import asyncio
import hashlib

from tilewright.signatures.sources import inferable
from tilewright_server.analysis_cache import Analysis
from tilewright_server.context import ServerContext
from tilewright_server.jobs.inspect import inspect, stop_inspecting
from tilewright_server.jobs.manager import Job, JobKind
from tilewright_server.settings import CompileRun, Settings
from tilewright_server.snapshot import Snapshot

_OPENED_S = 0.3
_PAUSE_S = 1.0


class Compiling:
    """One compilation for each document; the newest text is the one that is compiled."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._waiting: dict[str, asyncio.TimerHandle] = {}

    def opened(self, uri: str) -> None:
        """Compile a document that came into view, or whose surroundings changed."""
        if self._server.settings_of(uri).compiled.run is CompileRun.OPEN_AND_SAVE:
            self._soon(uri, _OPENED_S)

    def saved(self, uri: str) -> None:
        """Compile a document as it was written."""
        if self._server.settings_of(uri).compiled.run is not CompileRun.OFF:
            self._soon(uri, 0.0)

    def changed(self, uri: str) -> None:
        """Take up what is being compiled again, with the new text, when the typing pauses."""
        if uri in self._waiting or self._server.jobs.active(JobKind.COMPILE, uri):
            self._soon(uri, _PAUSE_S)

    def closed(self, uri: str) -> None:
        """Drop what is pending: its result would not be shown."""
        self._forget(uri)
        stop_inspecting(self._server, uri)

    def _soon(self, uri: str, delay_s: float) -> None:
        self._forget(uri)
        if self._server.settings.trusted:
            loop = asyncio.get_running_loop()
            self._waiting[uri] = loop.call_later(delay_s, self._due, uri)

    def _forget(self, uri: str) -> None:
        if (timer := self._waiting.pop(uri, None)) is not None:
            timer.cancel()

    def _due(self, uri: str) -> None:
        del self._waiting[uri]
        self._server.background("compileInBackground", compile_if_new, self._server, uri)


async def compile_if_new(server: ServerContext, uri: str) -> None:
    """Start compiling unless all is known for these targets, or on its way."""
    snapshot = server.snapshot(uri)
    if snapshot is None or not snapshot.is_python or snapshot.path is None or snapshot.cell:
        return
    analysis = await server.analyze(snapshot)
    kernels = compilable(analysis)
    if not kernels:
        return
    targets = await compile_targets(server, snapshot)
    identity = _identity(server.settings_of(uri), analysis, kernels, targets)
    running = server.jobs.active(JobKind.COMPILE, uri)
    if any(job.text_hash == identity for job in running) or server.snapshot(uri) is not snapshot:
        return
    stop_inspecting(server, uri)
    known = [server.facts.compiled(analysis, snapshot, name) for name in kernels]
    if not all(facts is not None and facts.targets == targets for facts in known):
        start_inspecting(server, snapshot, targets, identity, quiet=True)


def start_inspecting(
    server: ServerContext,
    snapshot: Snapshot,
    targets: tuple[str, ...],
    identity: str = "",
    *,
    quiet: bool,
) -> Job:
    """Start to compile a document, whatever is known of it."""
    job = Job(JobKind.COMPILE, snapshot.uri, targets[0], quiet=quiet, text_hash=identity)
    job.targets = targets
    server.start_job(job, lambda job: inspect(server, job, snapshot))
    server.refresh(snapshot.uri)
    return job


def compilable(analysis: Analysis) -> tuple[str, ...]:
    """The kernels that compilers here know, as ``inspect`` chooses them."""
    return tuple(kernel.name for kernel in inferable(analysis.module))


async def compile_targets(server: ServerContext, snapshot: Snapshot) -> tuple[str, ...]:
    """The chips that a document is compiled for."""
    named = tuple(dict.fromkeys(server.settings_of(snapshot.uri).compiled.targets))
    return named or (await server.pick_target(snapshot),)


def _identity(
    settings: Settings, analysis: Analysis, kernels: tuple[str, ...], targets: object
) -> str:
    keys = [analysis.facts_keys.get(name) for name in kernels]
    parts = (keys, targets, settings.python, settings.device)
    return hashlib.sha256(repr(parts).encode()).hexdigest()
