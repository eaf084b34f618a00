"""One running worker process: its pipes, its answers, its end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from tilewright.devices.model import DeviceError
from tilewright.devices.package import worker_zip
from tilewright.devices.rpc import Conversation, Pending
from tilewright.home import home, unkept
from tilewright.worker.protocol import (
    COMPILE_ONLY,
    FOLDER_PREFIX,
    MARKER,
    PLANTED_SECRET,
    SECRET,
)
from tilewright.worker.sandbox.environment import MORE as ALLOWED_MORE

_START_SECONDS = 180.0
_STOP_SECONDS = 8.0
_ENDING_SECONDS = 2.0
_TAIL = 4096
_OF_ENDPOINTS = "OPENAI_"


class KilledError(DeviceError):
    """A worker was killed from outside before it was ready: the next one may do."""


class Channel:
    """Starts ``python worker.zip`` and carries messages; raises DeviceError if it cannot start.

    A worker that somebody kills meanwhile raises KilledError.
    """

    def __init__(self, python: str, arguments: tuple[str, ...] = ()) -> None:
        self._python = python
        self._arguments = arguments
        self._marker = uuid.uuid4().hex
        self._stderr = bytearray()
        self._process = self._start()
        stdout, stdin = self._process.stdout, self._process.stdin
        assert stdout is not None
        assert stdin is not None
        self._talk = Conversation(
            cast("BinaryIO", stdout), cast("BinaryIO", stdin), self._has_ended
        )
        threading.Thread(target=self._read_stderr, daemon=True).start()
        with contextlib.ExitStack() as unless_greeted:
            unless_greeted.callback(self._abandon)
            self.hello = self._greet()
            unless_greeted.pop_all()
        self._talk.start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None and self._talk.alive

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, job: Mapping[str, Any], timeout_s: float) -> Pending:
        """Hand a job over; the answer, or the worker's end, sets ``done``."""
        return self._talk.send(job, timeout_s)

    def answers(self) -> bool:
        """Whether there is anybody; it starts each job at once, so that none waits."""
        return self.alive

    def cancel_all(self) -> None:
        """Stop every job under way; each is answered as an error."""
        self._talk.cancel_all()

    def close(self) -> None:
        """End the worker and everything it started; waits until they are gone."""
        self._talk.close()
        self._has_ended()

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**worker_environment(), MARKER: self._marker}
        packed = str(worker_zip())
        try:
            return subprocess.Popen(
                [self._python, packed, *self._arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise DeviceError(
                f"cannot start {self._python}: {error.strerror}; "
                f"{way_out(compile_only=COMPILE_ONLY in self._arguments)}"
            ) from error

    def _greet(self) -> dict[str, Any]:
        timer = threading.Timer(_START_SECONDS, self._process.kill)
        timer.start()
        try:
            message = self._talk.receive()
            too_late = timer.finished.is_set()
        finally:
            timer.cancel()  # or whoever interrupts this waits for it when the process ends
        hello: dict[str, Any] = (message or {}).get("hello") or {}
        if "torch" in hello:
            return hello
        killed = not too_late and self._was_killed()
        self._process.kill()
        self._process.wait()
        if killed:
            raise KilledError(f"{self._python} was killed before it was ready")
        reason = hello.get("error") or self._last_words() or "it ended without a word"
        raise cannot_start(self._python, reason, compile_only=COMPILE_ONLY in self._arguments)

    def _abandon(self) -> None:
        """End what did not greet, or what nobody waits for any longer."""
        self._process.kill()
        self._process.wait()
        self._clean_up()

    def _was_killed(self) -> bool:
        """Whether it ended by SIGKILL; its pipe may close a moment before it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(_ENDING_SECONDS) == -signal.SIGKILL
        return False

    def _last_words(self) -> str:
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _has_ended(self) -> None:
        """There is no more to hear: wait for its process, but not forever."""
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._clean_up()

    def _read_stderr(self) -> None:
        stderr = self._process.stderr
        while stderr is not None and (data := stderr.read1(_TAIL)):  # type: ignore[attr-defined]
            self._stderr += data
            del self._stderr[:-_TAIL]

    def _clean_up(self) -> None:
        """Kill what still carries this worker's mark in its environment, remove its scratch."""
        wanted = f"{MARKER}={self._marker}".encode()
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes():
                    os.kill(int(folder.name), signal.SIGKILL)
        scratch = Path(tempfile.gettempdir(), FOLDER_PREFIX + self._marker)
        shutil.rmtree(scratch, ignore_errors=True)


def worker_environment() -> dict[str, str]:
    """This process's environment as a worker needs it; Triton's cache folder is there.

    No secret is in it but those that ``TILEWRIGHT_ALLOW_ENV`` names, and never the key of an
    endpoint of language models: whatever runs next to a worker could read them in /proc.

    Raises InputError where that folder cannot be made.
    """
    named = {name.strip() for name in os.environ.get(ALLOWED_MORE, "").split(",")}
    environment = {name: value for name, value in os.environ.items() if _passes(name, named)}
    for name in ("TRITON_INTERPRET", MARKER):
        environment.pop(name, None)
    triton_cache = environment.setdefault("TRITON_CACHE_DIR", str(home() / "triton"))
    try:
        Path(triton_cache).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unkept(Path(triton_cache), error) from error
    return environment


def _passes(name: str, named: set[str]) -> bool:
    if name.startswith(_OF_ENDPOINTS):
        return False
    return name in named or name == PLANTED_SECRET or not SECRET.search(name)


def cannot_start(python: str, reason: str, *, compile_only: bool) -> DeviceError:
    """Why an interpreter is of no use, and what to do."""
    purpose = "compile" if compile_only else "run"
    return DeviceError(
        f"{python} cannot {purpose} kernels: {reason}; {way_out(compile_only=compile_only)}"
    )


def way_out(*, compile_only: bool) -> str:
    """What helps where an interpreter lacks something."""
    if compile_only:
        return "`tilewright toolchain list` lists compilers and how to install more"
    return (
        "pip install torch triton, or name an interpreter that has torch and triton in "
        "TILEWRIGHT_PYTHON"
    )
