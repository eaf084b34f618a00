"""The engine's process that stays: it has imported everything, and forks a child for each command.

A save then costs no start of an interpreter and no reading of the knowledge. The process is
started with the first command, ends by itself when it was idle for ten minutes, and is started
again when it is needed. One that ends while commands run takes them along, and that is reported.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

logger = logging.getLogger(__name__)
HOST_COMMAND = (sys.executable, "-P", "-m", "tilewright.cli.engine_process")
_LAUNCHER = str(Path(__file__).with_name("launcher.py"))
_READY_S = 60.0
_SEND_S = 10.0
_MOST_FAILURES = 2


def launched(command: Sequence[str]) -> tuple[str, ...]:
    """The command line of a process that ends with this one, however this one ends."""
    return (sys.executable, "-IS", _LAUNCHER, str(os.getpid()), *command)


class EngineHostError(OSError):
    """The engine's process cannot be started, or ended before it started a command."""


@dataclass
class EngineChild:
    """A command that the process runs; as ``asyncio.subprocess.Process`` is, without its input."""

    pid: int
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    _ended: "asyncio.Future[int]"

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._ended.result() if self._ended.done() else None

    async def wait(self) -> int:
        """The exit code, once it has ended."""
        return await asyncio.shield(self._ended)

    def send_signal(self, number: int) -> None:
        """Raises ProcessLookupError: it has ended."""
        if self._ended.done():
            raise ProcessLookupError
        os.kill(self.pid, number)


@dataclass
class _Command:
    started: "asyncio.Future[int]"
    ended: "asyncio.Future[int]"

    def lose(self, code: int) -> None:
        """Its process is gone: say so to who waits for it."""
        if not self.started.done():
            self.started.set_exception(EngineHostError("the engine's process ended"))
            self.started.exception()  # perhaps no caller waits: asyncio need not say so
        if not self.ended.done():
            self.ended.set_result(code)


class EngineHost:
    """Starts commands in the process that stays; owned by the event loop.

    Args:
        prefix: the command line of the engine without its arguments; only such are taken.
        command: of the process; it is given the number of its socket.
        on_crash: is called with a sentence where the process ended that should not have.
    """

    def __init__(
        self, prefix: Sequence[str], command: Sequence[str], on_crash: Callable[[str], None]
    ) -> None:
        self._prefix = tuple(prefix)
        self._command = tuple(command)
        self._on_crash = on_crash
        self._process: asyncio.subprocess.Process | None = None
        self._line: socket.socket | None = None
        self._reader: asyncio.Task[None] | None = None
        self._commands: dict[str, _Command] = {}
        self._turn = asyncio.Lock()
        self._failures = 0

    @property
    def pid(self) -> int | None:
        """Of the process that stays; None where there is none now."""
        return self._process.pid if self._process is not None else None

    def takes(self, command: Sequence[str]) -> bool:
        """Whether it can run a command: it is the engine's, and the process can be started."""
        own = tuple(command[: len(self._prefix)]) == self._prefix
        return own and hasattr(os, "fork") and self._failures < _MOST_FAILURES

    async def start(
        self, command: Sequence[str], text: str, cwd: str, env: Mapping[str, str], limit: int
    ) -> EngineChild:
        """Start a command with ``text`` as its input.

        Who no longer wants it leaves the process fit for others: what was begun is brought to its
        end, then the command is ended.

        Raises:
            EngineHostError: the process cannot be started, or ended at once.
        """
        starting = asyncio.create_task(self._start(command, text, cwd, env, limit))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_end_unwanted)
            raise

    async def _start(
        self, command: Sequence[str], text: str, cwd: str, env: Mapping[str, str], limit: int
    ) -> EngineChild:
        name = uuid.uuid4().hex
        request = {
            "id": name,
            "arguments": list(command[len(self._prefix) :]),
            "folder": cwd,
            "environment": dict(env),
        }
        loop = asyncio.get_running_loop()
        entry = _Command(loop.create_future(), loop.create_future())
        try:
            async with self._turn:
                line = await self._ready()
                self._commands[name] = entry
                stdout, stderr = await self._handed_over(line, request, text, limit)
            pid = await entry.started
        except OSError as error:
            raise EngineHostError(f"the engine's process takes no command: {error}") from error
        return EngineChild(pid, stdout, stderr, entry.ended)

    async def _handed_over(
        self, line: socket.socket, request: Mapping[str, Any], text: str, limit: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamReader]:
        """Hand over a request. One that got lost half-way would be read as a part of the next one,
        so the process is ended then, which its reader reports."""
        try:
            return await _send(line, request, text, limit)
        except OSError:
            if self._process is not None:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
            if self._reader is not None:
                await self._reader
            raise

    async def close(self) -> None:
        """End the process and the commands that it still runs."""
        process, self._process = self._process, None
        if self._line is not None:
            self._line.close()
            self._line = None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _ready(self) -> socket.socket:
        if self._process is not None and self._process.returncode is None and self._line:
            return self._line
        own, other = socket.socketpair()
        own.settimeout(_SEND_S)
        with other:
            self._process = await asyncio.create_subprocess_exec(
                *launched((*self._command, str(other.fileno()))),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=(other.fileno(),),
                env={**os.environ, "PYTHONUTF8": "1"},
                process_group=0,
            )
        self._line, self._commands = own, {}
        return await self._answering(self._process, own)

    async def _answering(
        self, process: asyncio.subprocess.Process, line: socket.socket
    ) -> socket.socket:
        """Wait until the process takes requests, then read its answers as they come."""
        assert process.stdout is not None
        try:
            first = await asyncio.wait_for(process.stdout.readline(), _READY_S)
        except TimeoutError:
            first = b""
        if not first:
            self._failures += 1
            await self.close()
            assert process.stderr is not None
            said = (await process.stderr.read()).decode(errors="replace").strip()
            reason = said.splitlines()[-1] if said else "it gives no reason"
            logger.warning("the engine's process cannot be started: %s", reason)
            raise EngineHostError(f"the engine's process cannot be started: {reason}")
        self._failures = 0
        self._reader = asyncio.create_task(self._read(process, line, self._commands))
        return line

    async def _read(
        self,
        process: asyncio.subprocess.Process,
        line: socket.socket,
        commands: dict[str, _Command],
    ) -> None:
        """Follow what becomes of the commands of a process until it ends."""
        assert process.stderr is not None
        errors = asyncio.create_task(_tail(process.stderr))
        code = 1
        try:
            wrong = await self._answers(process, commands)
            code = await process.wait()
            line.close()
            if self._process is process:
                self._process = self._line = None
                if code or commands:
                    said = (await errors).strip().splitlines()
                    self._crashed(code, wrong or (said[-1] if said else ""))
        finally:
            for entry in commands.values():
                entry.lose(code or 1)
            commands.clear()

    async def _answers(
        self, process: asyncio.subprocess.Process, commands: dict[str, _Command]
    ) -> str:
        """Take answers until there are no more; why they cannot be read, empty where they can.

        A process whose answer cannot be read is ended: which command it was about is not known.
        """
        assert process.stdout is not None
        while True:
            try:
                answer = await process.stdout.readline()
                if not answer:
                    return ""
                _take(commands, json.loads(answer))
            except (ValueError, TypeError, KeyError) as error:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                return f"an answer of it cannot be read: {error}"

    def _crashed(self, code: int, said: str) -> None:
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        what = f"the engine's process ended ({how}){f': {said}' if said else ''}"
        logger.error("%s; it is started again with the next command", what)
        self._on_crash(f"{what}; it is started again with the next command")


def _take(commands: dict[str, _Command], answer: Any) -> None:
    """Raises ValueError, TypeError or KeyError where it is no answer."""
    if not isinstance(answer, dict):
        raise TypeError(f"{answer!r:.80} is no object")
    entry = commands.get(answer["id"])
    if entry is None:
        return
    if "pid" in answer and not entry.started.done():
        entry.started.set_result(int(answer["pid"]))
    elif "code" in answer:
        code = int(answer["code"])
        del commands[answer["id"]]
        if not entry.ended.done():
            entry.ended.set_result(code)


def _end_unwanted(starting: "asyncio.Task[EngineChild]") -> None:
    """End a command that was started for somebody who no longer waits for it."""
    if starting.cancelled() or starting.exception() is not None:
        return
    child = starting.result()
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)


async def _send(
    line: socket.socket, request: Mapping[str, Any], text: str, limit: int
) -> tuple[asyncio.StreamReader, asyncio.StreamReader]:
    """Hand over a request with its three streams; the ends to read from."""
    data = json.dumps(request, ensure_ascii=True).encode()
    own_out, out = os.pipe()
    own_error, error = os.pipe()
    with os.fdopen(out, "wb"), os.fdopen(error, "wb"), tempfile.TemporaryFile() as given:
        readers = await _reading(own_out, limit), await _reading(own_error, limit)
        given.write(text.encode(errors="replace"))
        given.seek(0)
        await asyncio.to_thread(_hand_over, line, data, given, (out, error))
    return readers  # where nothing was handed over, they are at their end and close by themselves


def _hand_over(
    line: socket.socket, data: bytes, given: IO[bytes], streams: tuple[int, int]
) -> None:
    socket.send_fds(line, [len(data).to_bytes(4, "big")], [given.fileno(), *streams])
    line.sendall(data)


async def _reading(descriptor: int, limit: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=limit)
    file = os.fdopen(descriptor, "rb", buffering=0)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader


async def _tail(stream: asyncio.StreamReader) -> str:
    kept = bytearray()
    while chunk := await stream.read(65536):
        kept += chunk
        del kept[:-4000]
    return kept.decode(errors="replace")
