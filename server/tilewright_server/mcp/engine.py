"""Runs of the engine for tools: a child process each, queued, with limits and a certain end."""

import asyncio
import contextlib
import json
import os
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from tilewright.figures import counted
from tilewright.models.variables import KEY, STORED_KEYS
from tilewright.textfile import ROOTS
from tilewright_server import wording
from tilewright_server.jobs.process import EngineRun, Outcome
from tilewright_server.mcp.progress import Progress
from tilewright_server.mcp.refusal import RefusedError
from tilewright_server.mcp.roots import Place, Roots

_CANCEL_GRACE_S = 0.5
_TIMEOUT_GRACE_S = 5.0
_RUNS_AT_ONCE = 1  # two would disturb each other's measurements
_READS_AT_ONCE = 2
_MOST_WAITING = 16
_KEYS = frozenset((KEY, STORED_KEYS))
_FAULT_CODE = "exit code 70"
_USAGE = re.compile(
    r"the engine ended without a result \(exit code 2\): (?:tilewright: )?(.*)", re.S
)
OnMove = Callable[[int], None]


@dataclass(frozen=True)
class Command:
    """One command of the engine.

    Attributes:
        words: without the executable and the format.
        place: its root is the working directory.
        text: standard input.
        document: it answers with one JSON document; otherwise with events.
        measures: it runs or compiles kernels, and one such command runs at a time.
        limit_s: seconds after which it is stopped.
    """

    words: tuple[str, ...]
    place: Place
    text: str
    document: bool
    measures: bool
    limit_s: float


@dataclass(frozen=True)
class Finished:
    """A result; ``stopped`` if the time was over and it is the best so far."""

    value: Mapping[str, Any]
    stopped: bool


class Engine:
    """Starts the command line, one child process for each call."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._runs = JobQueue(_RUNS_AT_ONCE, _MOST_WAITING)
        self._reads = JobQueue(_READS_AT_ONCE, _MOST_WAITING)

    async def run(self, command: Command, roots: Roots, progress: Progress) -> Finished:
        """The result of a command.

        Raises:
            RefusedError: there is none; the message says why.
        """
        queue = self._runs if command.measures else self._reads
        async with queue.turn(lambda ahead: progress.say(None, _waiting(ahead))):
            progress.say(0, f"{command.words[0]} is running")
            run = EngineRun(
                self._words(command),
                command.place.root,
                _environment(roots),
                document=command.document,
            )
            outcome, late = await _bounded(run, command, progress)
        if outcome.result is None:
            raise RefusedError(_why(outcome, command.limit_s, late=late))
        return Finished(outcome.result, late)

    def _words(self, command: Command) -> tuple[str, ...]:
        form = "json" if command.document else "events"
        return (*self._command, *command.words, "--format", form)


async def _bounded(run: EngineRun, command: Command, progress: Progress) -> tuple[Outcome, bool]:
    """How a run ended, and whether it was stopped because its time was over."""

    def on_event(event: Mapping[str, Any]) -> None:
        if event["event"] == "progress":
            progress.say(_percent(event.get("percent")), str(event.get("message", "")))
        elif event["event"] == "trial" and isinstance(event.get("trial"), Mapping):
            progress.say(None, wording.trial_line(event["trial"]))

    async with _ending(run, asyncio.create_task(run.run(command.text, on_event))) as task:
        done, _ = await asyncio.wait({task}, timeout=command.limit_s)
        if not done:
            run.stop(_TIMEOUT_GRACE_S)
        return await asyncio.shield(task), not done


@contextlib.asynccontextmanager
async def _ending(
    run: EngineRun, task: "asyncio.Task[Outcome]"
) -> AsyncIterator["asyncio.Task[Outcome]"]:
    """Leave no process, whichever way the block is left."""
    try:
        yield task
    finally:
        if not task.done():
            run.stop(_CANCEL_GRACE_S)
            with anyio.CancelScope(shield=True):
                await asyncio.wait({task})


def _environment(roots: Roots) -> Mapping[str, str]:
    # No tool asks a language model. UTF-8 mode: the text arrives on standard input in UTF-8.
    without_keys = {name: item for name, item in os.environ.items() if name not in _KEYS}
    return {**without_keys, "PYTHONUTF8": "1", ROOTS: json.dumps(roots.folders)}


def _waiting(ahead: int) -> str:
    return f"waiting in the queue: {counted(ahead, 'call')} ahead"


def _percent(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _why(outcome: Outcome, limit_s: float, *, late: bool) -> str:
    if late:
        return (
            f"stopped after {limit_s:g} s without a result: nothing is known of it, neither right "
            "nor wrong; raise `timeout_s`, or give it less to do"
        )
    error = outcome.error or "the engine gave no result"
    if _FAULT_CODE in error:
        return f"a fault in Tilewright, please report it: {error}"
    usage = _USAGE.match(error)
    return usage[1] if usage else error


class JobQueue:
    """Lets ``at_once`` calls run; at most ``most_waiting`` wait."""

    def __init__(self, at_once: int, most_waiting: int) -> None:
        self._free = at_once
        self._most = most_waiting
        self._waiting: deque[tuple[asyncio.Future[None], OnMove]] = deque()

    @contextlib.asynccontextmanager
    async def turn(self, on_move: OnMove) -> AsyncIterator[None]:
        """Wait for a turn and hold it; ``on_move`` is given the number of calls ahead.

        Raises:
            RefusedError: too many wait already.
        """
        await self._enter(on_move)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, on_move: OnMove) -> None:
        if self._free > 0:
            self._free -= 1
            return
        if len(self._waiting) >= self._most:
            raise RefusedError(
                f"{self._most} calls are waiting already; wait for their results, then call again"
            )
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (place, on_move)
        self._waiting.append(entry)
        on_move(len(self._waiting))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()
            else:
                with contextlib.suppress(ValueError):
                    self._waiting.remove(entry)
                self._announce()
            raise

    def _leave(self) -> None:
        while self._waiting:
            place, _ = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                self._announce()
                return
        self._free += 1

    def _announce(self) -> None:
        for ahead, (_, on_move) in enumerate(self._waiting, 1):
            on_move(ahead)
