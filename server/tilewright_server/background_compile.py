"""Compile the kernels of a document: when it is opened, saved or changed meanwhile, or on command.

What came of it is remembered for the chips of the settings.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

from tilewright.signatures.sources import inferable
from tilewright_server.analysis_cache import Parsed
from tilewright_server.context import ServerContext
from tilewright_server.fact_keys import facts_key, hashes_of
from tilewright_server.jobs.engine_job import conclude, run_engine
from tilewright_server.jobs.manager import Job, JobKind
from tilewright_server.kernel_facts import functions_of, read_compiled
from tilewright_server.settings import CompileRun, Settings
from tilewright_server.snapshot import Snapshot

_OPENED_S = 0.3
_PAUSE_S = 1.0
_GRACE_S = 0.2


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
    parsed = await server.parse(snapshot)
    kernels = compilable(parsed)
    if not kernels:
        return
    targets = await compile_targets(server, snapshot)
    identity = _identity(server.settings_of(uri), parsed, kernels, targets)
    running = server.jobs.active(JobKind.COMPILE, uri)
    if any(job.text_hash == identity for job in running) or server.snapshot(uri) is not snapshot:
        return
    stop_inspecting(server, uri)
    known = [server.facts.compiled(parsed, snapshot, name) for name in kernels]
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
    """Start to compile a document, whatever is known of it, in place of what compiles it now."""
    stop_inspecting(server, snapshot.uri)
    job = Job(JobKind.COMPILE, snapshot.uri, targets[0], quiet=quiet, text_hash=identity)
    job.targets = targets
    server.jobs.start(job, lambda job: _inspect(server, job, snapshot))
    server.refresh(snapshot.uri)
    return job


def stop_inspecting(server: ServerContext, uri: str) -> None:
    """Stop compiling a document whose result is no longer needed."""
    for job in server.jobs.active(JobKind.COMPILE, uri):
        server.jobs.cancel(job.id, _GRACE_S)


def compilable(parsed: Parsed) -> tuple[str, ...]:
    """The kernels that compilers here know, as ``inspect`` chooses them."""
    return tuple(kernel.name for kernel in inferable(parsed.module))


async def compile_targets(server: ServerContext, snapshot: Snapshot) -> tuple[str, ...]:
    """The chips that a document is compiled for."""
    named = tuple(dict.fromkeys(server.settings_of(snapshot.uri).compiled.targets))
    return named or (await server.pick_target(snapshot),)


def _identity(settings: Settings, parsed: Parsed, kernels: tuple[str, ...], targets: object) -> str:
    keys = [parsed.facts_keys.get(name) for name in kernels]
    parts = (keys, targets, settings.python, settings.device)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


async def _inspect(server: ServerContext, job: Job, snapshot: Snapshot) -> None:
    """Run the engine; each kernel is shown as soon as its event arrives."""
    parsed = await server.parse(snapshot)
    same = hashes_of(parsed, snapshot)
    stored: set[str] = set()

    def on_event(event: Mapping[str, Any]) -> None:
        entry = event.get("kernel")
        if event["event"] != "inspected" or not isinstance(entry, Mapping):
            return
        if _remember(server, parsed, snapshot, entry, same):
            if entry["reports"]:
                stored.add(str(entry["name"]))
            server.refresh(snapshot.uri)

    outcome = await run_engine(server, job, snapshot, "Compiling kernels", on_event)
    conclude(server, job, snapshot, outcome, len(stored), "compiled")


def _remember(
    server: ServerContext,
    parsed: Parsed,
    snapshot: Snapshot,
    entry: Mapping[str, Any],
    same: set[tuple[str, str]],
) -> bool:
    """Store what is said of a kernel if it is the one that was sent."""
    if (entry.get("name"), entry.get("content_hash")) not in same:
        return False
    facts = read_compiled(entry, functions_of(parsed.module))
    if facts is None:
        return False
    server.facts.add_compiled(facts_key(parsed, snapshot, facts.kernel), facts)
    return True
