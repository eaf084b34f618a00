"""One connection to a worker service, which is started if it is not there."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from pathlib import Path
from typing import Any

from tilewright.devices.rpc import Conversation, Pending
from tilewright.devices.service.places import (
    ServiceError,
    open_socket,
    sent_environment,
    socket_path,
)
from tilewright.devices.service.starting import START_SECONDS, start_service
from tilewright.worker.messages.envelope import Hello, Job

_HELLO_SECONDS = 20.0
_PAUSE_SECONDS = 0.05
_SEND_LIMIT = struct.pack("@ll", 30, 0)  # seconds and microseconds for a service that reads nothing


class ServiceChannel:
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
        self.hello: Hello = (self._talk.receive() or {}).get("hello") or {}
        connection.settimeout(None)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SEND_LIMIT)

    @property
    def welcome(self) -> bool:
        """Whether the service takes jobs; else it made way for another, or is about to end."""
        return "pid" in self.hello

    @property
    def alive(self) -> bool:
        return self._talk.alive

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

    def send(self, job: Job[Any], timeout_s: float) -> Pending:
        """Hand a job over; ``started`` tells when its time begins."""
        return self._talk.send(job, timeout_s)

    def ask(self, about: str) -> Pending:
        """``status``, ``stop`` or ``retire``: of the service itself."""
        return self._talk.ask({"service": about})

    def answers(self) -> bool:
        """Whether the service says how it is, within a while."""
        asked = self.ask("status")
        return asked.done.wait(_HELLO_SECONDS) and asked.answer is not None

    def cancel_all(self) -> None:
        """Stop every job of this connection; each is answered as an error."""
        self._talk.cancel_all()

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
        ServiceError: whoever listens there says nothing.
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
