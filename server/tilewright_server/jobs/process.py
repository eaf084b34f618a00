"""One run of the engine: text in, JSON lines out, and a sure end.

The child leads a process group of its own. Stopping is first asked (SIGTERM: the engine gives
its best so far) and after a grace period done (SIGKILL to the whole group).
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright_server.jobs.engine_host import (
    EngineChild,
    EngineHost,
    EngineHostError,
    launched,
)

logger = logging.getLogger(__name__)

# -P: a file called json.py in the user's folder must not become the engine's json.
ENGINE_COMMAND = (sys.executable, "-P", "-m", "tilewright")
_LONGEST_LINE = 64 * 1024 * 1024
_ERROR_TAIL = 4000
_DRAIN_S = 1.0

Process = asyncio.subprocess.Process | EngineChild
OnEvent = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Outcome:
    """How a run ended: with a result, or with a message that says why there is none."""

    result: Mapping[str, Any] | None
    error: str | None


class EngineRun:
    """A run from start to end. ``stop`` may be called at any time, also before ``run``.

    ``document``: the command writes one JSON document, not a stream of events. ``host``: forks
    the command; without it, and where it cannot, the command is a process started anew.
    """

    def __init__(
        self,
        command: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        *,
        document: bool = False,
        host: EngineHost | None = None,
    ) -> None:
        self._command = tuple(command)
        self._host = host
        self._document = document
        self._cwd = cwd
        self._env = dict(env)
        self._stopping = asyncio.Event()
        self._grace_s = 3.0
        self._asks = True
        self._outcome: Outcome | None = None
        self._noise: list[str] = []
        self.pid: int | None = None
        self.is_over = False

    def stop(self, grace_s: float, *, ask: bool = True) -> None:
        """Ask the engine to end, and end it after ``grace_s`` seconds.

        Without ``ask`` it is ended as a crash would: its run can then be resumed.
        """
        self._grace_s = grace_s
        self._asks = ask
        self._stopping.set()

    async def run(self, text: str, on_event: OnEvent) -> Outcome:
        """Run to the end. Every way out leaves no process of the group behind."""
        if self._stopping.is_set():
            return Outcome(None, "stopped before it began")
        try:
            process = await self._unless_stopped(self._start(text))
        except OSError as error:
            return Outcome(None, f"the engine cannot be started: {error}")
        if process is None:
            return Outcome(None, "stopped before it began")
        self.pid = process.pid
        errors = bytearray()
        helpers = [
            *([asyncio.create_task(_feed(process, text))] if _is_fed(process) else []),
            asyncio.create_task(_keep_tail(process, errors)),
            asyncio.create_task(self._stopper(process)),
        ]
        try:
            await self._read_until_exit(process, on_event)
        finally:
            self.is_over = True
            _kill_group(process.pid)
            for helper in helpers:
                helper.cancel()
        await process.wait()
        return self._outcome or Outcome(None, self._explain(process.returncode, bytes(errors)))

    async def _unless_stopped(self, start: Coroutine[Any, Any, Process]) -> Process | None:
        """What is started; None if it is no longer wanted before that.

        The first start takes seconds, of all that the engine imports: others must not wait for it
        behind a run that gave way.
        """
        starting = asyncio.create_task(start)
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return starting.result() if starting.done() else None
        finally:
            stopping.cancel()
            if not starting.done():
                starting.cancel()

    async def _start(self, text: str) -> Process:
        if self._host is not None and self._host.takes(self._command):
            try:
                return await self._host.start(
                    self._command, text, self._cwd, self._env, _LONGEST_LINE
                )
            except EngineHostError as error:
                logger.warning("%s; a process is started for this command alone", error)
        return await asyncio.create_subprocess_exec(
            *launched(self._command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            cwd=self._cwd,
            env=self._env,
            process_group=0,
        )

    async def _read_until_exit(self, process: Process, on_event: OnEvent) -> None:
        # A grandchild may hold the pipe open after the engine died, so both are waited for.
        read = self._read_document(process) if self._document else self._read(process, on_event)
        reader = asyncio.create_task(read)
        waiter = asyncio.create_task(process.wait())
        try:
            await asyncio.wait({reader, waiter}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({reader}, timeout=_DRAIN_S)
            if reader.done():
                reader.result()
        finally:
            reader.cancel()
            waiter.cancel()

    async def _read(self, process: Process, on_event: OnEvent) -> None:
        assert process.stdout is not None
        while self._outcome is None:
            try:
                line = await process.stdout.readline()
            except ValueError:
                self._outcome = Outcome(None, "the engine wrote a line longer than 64 MiB")
                return
            if not line:
                return
            event = _parse(line)
            if event is None:
                self._noise = [*self._noise[-4:], line.decode(errors="replace").strip()[:200]]
                logger.warning("the engine wrote a line that is not an event: %r", line[:200])
            else:
                self._take(event, on_event)

    async def _read_document(self, process: Process) -> None:
        assert process.stdout is not None
        data = bytearray()
        while chunk := await process.stdout.read(1 << 20):
            data += chunk
            if len(data) > _LONGEST_LINE:
                self._outcome = Outcome(None, "the engine wrote a document longer than 64 MiB")
                return
        try:
            value = json.loads(data)
        except ValueError:  # what it wrote to standard error says why there is none
            return
        if isinstance(value, dict):
            self._outcome = Outcome(value, None)

    def _take(self, event: Mapping[str, Any], on_event: OnEvent) -> None:
        kind = event["event"]
        if kind == "result" and isinstance(event.get("result"), Mapping):
            self._outcome = Outcome(event["result"], None)
        elif kind == "error":
            place = event.get("path")
            where = f"{place}:{event['line']}: " if place and event.get("line") else ""
            self._outcome = Outcome(None, f"{where}{event.get('message', 'unknown error')}")
        else:
            on_event(event)

    async def _stopper(self, process: Process) -> None:
        await self._stopping.wait()
        if not self._asks:
            _kill_group(process.pid)
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        await asyncio.sleep(self._grace_s)
        _kill_group(process.pid)

    def _explain(self, code: int | None, errors: bytes) -> str:
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        said = errors.decode(errors="replace").strip().splitlines()
        last = said[-1] if said else (self._noise[-1] if self._noise else "it said nothing")
        return f"the engine ended without a result ({how}): {last}"


def _parse(line: bytes) -> Mapping[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def _is_fed(process: Process) -> bool:
    """Whether its input is a pipe; the host gives a file."""
    return not isinstance(process, EngineChild)


async def _feed(process: Process, text: str) -> None:
    assert isinstance(process, asyncio.subprocess.Process)
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(text.encode(errors="replace"))
        await process.stdin.drain()
    process.stdin.close()


async def _keep_tail(process: Process, tail: bytearray) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(65536):
        tail += chunk
        del tail[:-_ERROR_TAIL]
        logger.debug("engine: %s", chunk.decode(errors="replace").rstrip())


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
