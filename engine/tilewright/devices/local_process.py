"""One running worker process: its pipes, its answers, its end."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from tilewright.devices.model import DeviceError
from tilewright.devices.package import worker_zip
from tilewright.devices.rpc import ENDING_SECONDS, START_SECONDS, Conversation, ProcessChannel
from tilewright.home import home, unkept
from tilewright.worker.messages.envelope import Hello
from tilewright.worker.protocol import (
    COMPILE_ONLY,
    FOLDER_PREFIX,
    MARKER,
    PLANTED_SECRET,
    SECRET,
)
from tilewright.worker.runtime import process_tree
from tilewright.worker.sandbox.environment import MORE as ALLOWED_MORE

_STOP_SECONDS = 8.0
_OF_ENDPOINTS = "OPENAI_"


class KilledError(DeviceError):
    """A worker was killed from outside before it was ready: the next one may do."""


class Channel(ProcessChannel):
    """Starts ``python worker.zip`` and carries messages; raises DeviceError if it cannot start.

    A worker that is killed meanwhile raises KilledError.
    """

    def __init__(self, python: str, arguments: tuple[str, ...] = ()) -> None:
        self._python = python
        self._arguments = arguments
        self._marker = uuid.uuid4().hex
        super().__init__(self._start(), _STOP_SECONDS)
        self._talk = Conversation(self._stdout, self._stdin, self._has_ended)
        with contextlib.ExitStack() as unless_greeted:
            unless_greeted.callback(self._abandon)
            with _ended_at_exit(self._process):
                self.hello = self._greet()
            unless_greeted.pop_all()
        self._talk.start()

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

    def _greet(self) -> Hello:
        with self._limited() as over:
            message = self._talk.receive()
        hello: Hello = (message or {}).get("hello") or {}
        if "torch" in hello:
            return hello
        if over.is_set():
            waited = f"{self._python} had not imported torch and triton after {START_SECONDS:g} s"
            raise DeviceError(f"{waited}; try again when the machine has less to do")
        # Its pipe may close a moment before it has ended.
        ended = self._reap(ENDING_SECONDS)
        if ended and self._process.returncode == -signal.SIGKILL:
            raise KilledError(f"{self._python} was killed before it was ready")
        reason = hello.get("error") or self.last_words or "it ended without output"
        raise cannot_start(self._python, reason, compile_only=COMPILE_ONLY in self._arguments)

    def _abandon(self) -> None:
        """End what did not greet, or what no caller waits for any longer."""
        self._process.kill()
        self._process.wait()
        self._clean_up()

    def _has_ended(self) -> None:
        """There is no more to hear: wait for its process, but not forever."""
        self._reap()
        self._clean_up()

    def _clean_up(self) -> None:
        """Kill what still carries this worker's mark in its environment, remove its scratch."""
        process_tree.kill_marked(f"{MARKER}={self._marker}")
        scratch = Path(tempfile.gettempdir(), FOLDER_PREFIX + self._marker)
        shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def _ended_at_exit(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Kill a process if this program ends first, as when a person interrupts it."""
    atexit.register(process.kill)
    try:
        yield
    finally:
        atexit.unregister(process.kill)


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
    # Threads of numpy's BLAS that wait for each other take processor time from other jobs.
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")
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
