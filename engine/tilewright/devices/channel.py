"""One running worker process: its pipes, its answers, its end."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.devices.model import DeviceError
from tilewright.devices.package import worker_zip
from tilewright.home import home
from tilewright.worker.protocol import COMPILE_ONLY, FOLDER_PREFIX, MARKER

_HEADER = struct.Struct(">I")
_START_SECONDS = 180.0
_STOP_SECONDS = 8.0
_TAIL = 4096


class Pending:
    """A request on its way; ``answer`` is None if the worker ended first."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.answer: dict[str, Any] | None = None


class Channel:
    """Starts ``python worker.zip`` and carries messages; raises DeviceError if it cannot start."""

    def __init__(self, python: str, arguments: tuple[str, ...] = ()) -> None:
        self._python = python
        self._arguments = arguments
        self._marker = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._pending: dict[int, Pending] = {}
        self._number = 0
        self._stderr = bytearray()
        self._process = self._start()
        self._reader = threading.Thread(target=self._read, daemon=True, name="tilewright-worker")
        threading.Thread(target=self._read_stderr, daemon=True).start()
        self.hello = self._greet()
        self._reader.start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None and self._reader.is_alive()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, job: Mapping[str, Any], timeout_s: float) -> Pending:
        """Hand a job over; the answer, or the worker's end, sets ``done``."""
        pending = Pending()
        with self._lock:
            self._number += 1
            number = self._number
            self._pending[number] = pending
            if not self._write({"id": number, "job": dict(job), "timeout_s": timeout_s}):
                del self._pending[number]
                pending.done.set()
        return pending

    def cancel_all(self) -> None:
        """Stop every job under way; each is answered as an error."""
        with self._lock:
            for number in self._pending:
                self._write({"cancel": number})

    def close(self) -> None:
        """End the worker and everything it started; waits until they are gone."""
        with self._lock, contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._clean_up()

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, MARKER: self._marker}
        environment.pop("TRITON_INTERPRET", None)
        triton_cache = environment.setdefault("TRITON_CACHE_DIR", str(home() / "triton"))
        Path(triton_cache).mkdir(parents=True, exist_ok=True)
        try:
            return subprocess.Popen(
                [self._python, str(worker_zip()), *self._arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise DeviceError(
                f"cannot start {self._python}: {error.strerror}; {self._way_out()}"
            ) from error

    def _greet(self) -> dict[str, Any]:
        timer = threading.Timer(_START_SECONDS, self._process.kill)
        timer.start()
        message = self._receive()
        timer.cancel()
        hello: dict[str, Any] = (message or {}).get("hello") or {}
        if "torch" in hello:
            return hello
        self._process.kill()
        self._process.wait()
        reason = hello.get("error") or self._last_words() or "it ended without a word"
        raise DeviceError(
            f"{self._python} cannot {self._purpose()} kernels: {reason}; {self._way_out()}"
        )

    def _purpose(self) -> str:
        return "compile" if COMPILE_ONLY in self._arguments else "run"

    def _way_out(self) -> str:
        if COMPILE_ONLY in self._arguments:
            return "`tilewright toolchain list` says what is there and how to get more"
        return (
            "pip install torch triton, or name an interpreter that has torch and triton "
            "with --python PATH or TILEWRIGHT_PYTHON"
        )

    def _last_words(self) -> str:
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _write(self, message: Mapping[str, Any]) -> bool:
        body = json.dumps(message).encode()
        stdin = self._process.stdin
        if stdin is None or stdin.closed:
            return False
        try:
            stdin.write(_HEADER.pack(len(body)) + body)
            stdin.flush()
        except OSError:
            return False
        return True

    def _receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        stdout = self._process.stdout
        if stdout is None:
            return None
        header = stdout.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return None
        (length,) = _HEADER.unpack(header)
        body = stdout.read(length)
        if len(body) < length:
            return None
        message: dict[str, Any] = json.loads(body)
        return message

    def _read(self) -> None:
        while (message := self._receive()) is not None:
            with self._lock:
                pending = self._pending.pop(message["id"], None)
            if pending is not None:
                pending.answer = message
                pending.done.set()
        self._process.wait()
        self._clean_up()
        with self._lock:
            left, self._pending = self._pending, {}
        for pending in left.values():
            pending.done.set()

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
