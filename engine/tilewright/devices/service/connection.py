"""One connection to a worker service, which is started if it is not there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tilewright.devices.local_process import cannot_start, way_out
from tilewright.devices.model import DeviceError
from tilewright.devices.package import worker_zip
from tilewright.devices.rpc import Conversation, Pending, WorkerChannel
from tilewright.devices.service.places import (
    ServiceError,
    idle_seconds,
    open_socket,
    sent_environment,
    socket_path,
)
from tilewright.worker.messages.envelope import Hello
from tilewright.worker.protocol import COMPILE_ONLY, SECRET, SERVICE
from tilewright.worker.runtime.connections import MessageBuffer

_HELLO_SECONDS = 20.0
_PAUSE_SECONDS = 0.05
_SEND_LIMIT = struct.pack("@ll", 30, 0)  # seconds and microseconds for a service that reads nothing
START_SECONDS = 180.0


def start_service(python: str, path: Path, *, compile_only: bool) -> None:
    """Start a service at ``path`` and wait until it listens; one that does already is left alone.

    Raises:
        ServiceError: it does not start; what it printed is in the file ``.log`` next to the socket.
        DeviceError: the interpreter lacks what a worker needs, as service or not.
    """
    try:
        with _alone(path.with_suffix(".starting")):
            found = open_socket(path)
            if found is not None:
                found.close()
                return
            hello = _hello(_started(python, path, compile_only), path)
    except OSError as error:
        where = error.filename or path.parent
        raise ServiceError(f"cannot start it: {where}: {error.strerror or error}") from error
    if "error" in hello:
        raise cannot_start(python, hello["error"], compile_only=compile_only)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time."""
    with path.open("ab") as file:
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    raise ServiceError(f"another process has been starting {path.stem}") from None
                time.sleep(_PAUSE_SECONDS)
        yield


def _started(python: str, path: Path, compile_only: bool) -> BinaryIO:
    """What it will say; the process that was started has already left it to itself."""
    arguments = [SERVICE, str(path), str(idle_seconds()), *([COMPILE_ONLY] if compile_only else [])]
    with path.with_suffix(".log").open("wb") as log:
        try:
            process = subprocess.Popen(
                [python, str(worker_zip()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={n: v for n, v in sent_environment().items() if not SECRET.search(n)},
                process_group=0,
            )
        except OSError as error:
            raise DeviceError(
                f"cannot start {python}: {error.strerror}; {way_out(compile_only=compile_only)}"
            ) from error
    try:
        process.wait(START_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stdout is not None
    said: BinaryIO = process.stdout  # type: ignore[assignment]
    return said


def _hello(said: BinaryIO, path: Path) -> Hello:
    with said:
        data = _all_of(said.fileno())
    messages = MessageBuffer().feed(data)
    if not messages:
        lines = path.with_suffix(".log").read_text(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else f"no answer within {START_SECONDS:g} s"
        raise ServiceError(f"the service did not start: {reason}")
    hello: Hello = messages[0]["hello"]
    return hello


def _all_of(descriptor: int) -> bytes:
    """What is written until the other side closes, or has taken too long."""
    data = b""
    end = time.monotonic() + START_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while (left := end - time.monotonic()) > 0 and selector.select(left):
            more = os.read(descriptor, 1 << 16)
            if not more:
                break
            data += more
    return data


class ServiceChannel(WorkerChannel):
    """Carries jobs to a service and their answers back; other clients have their own."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        connection.settimeout(_HELLO_SECONDS)
        self._talk = Conversation(
            connection.makefile("rb"),
            connection.makefile("wb"),
            lambda: None,
            queued=True,
            more={"environment": sent_environment()},
        )
        self.hello = (self._talk.receive() or {}).get("hello") or {}
        connection.settimeout(None)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SEND_LIMIT)

    @property
    def welcome(self) -> bool:
        """Whether the service takes jobs; else it made way for another, or is about to end."""
        return "pid" in self.hello

    def replaces(self, other: ServiceChannel) -> bool:
        """Whether the other service has the same interpreter and another worker."""
        same = self.hello.get("executable") == other.hello.get("executable")
        return same and self.hello.get("worker") != other.hello.get("worker")

    @property
    def pid(self) -> int:
        """The service's process."""
        return int(self.hello["pid"])

    def start(self) -> None:
        """Read answers from now on."""
        self._talk.start()

    def ask(self, about: str) -> Pending:
        """``status``, ``stop`` or ``retire``: of the service itself."""
        return self._talk.ask({"service": about})

    def answers(self) -> bool:
        """Whether the service says how it is, within a while."""
        asked = self.ask("status")
        return asked.done.wait(_HELLO_SECONDS) and asked.answer is not None

    def close(self) -> None:
        """Leave; the service stops what of this connection is under way, and goes on."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._talk.close()
        self._socket.close()


def connect(python: str, *, compile_only: bool) -> ServiceChannel:
    """A connection to an interpreter's service.

    Raises:
        ServiceError: there is none, and none can be started.
        DeviceError: the interpreter lacks what a worker needs, as service or not.
    """
    path = socket_path(python, compile_only=compile_only)
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        found = join(path)
        if found is not None:
            return found
        start_service(python, path, compile_only=compile_only)
        _retire_others(path)
        time.sleep(_PAUSE_SECONDS)
    raise ServiceError(f"no service listens at {path} after {START_SECONDS:g} s")


def _retire_others(path: Path) -> None:
    """Have services of this interpreter end that run another version of the worker."""
    mine = join(path)
    if mine is None:
        return
    for other in set(path.parent.glob("*.sock")) - {path}:
        with contextlib.suppress(ServiceError):
            found = join(other)
            if found is None:
                continue
            if mine.replaces(found):
                found.ask("retire").done.wait(_HELLO_SECONDS)
            found.close()
    mine.close()


def join(path: Path) -> ServiceChannel | None:
    """A connection to the service at ``path``; None where none is, or it is about to end.

    Raises:
        ServiceError: the process that listens there says nothing.
    """
    connection = open_socket(path)
    if connection is None:
        return None
    start = time.monotonic()
    channel = ServiceChannel(connection)
    if channel.welcome:
        channel.start()
        return channel
    channel.close()
    if time.monotonic() - start >= _HELLO_SECONDS:
        raise ServiceError(f"the service at {path} does not answer: `tilewright service stop`")
    return None
