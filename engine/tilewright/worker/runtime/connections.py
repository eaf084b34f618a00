"""Framed messages over pipes and sockets, and the descriptors that travel with them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

_HEADER = struct.Struct(">I")
_MAX_MESSAGE = 256 * 1024 * 1024
_CHUNK = 1 << 16
_MOST_DESCRIPTORS = 4


def encode(message: Mapping[str, object]) -> bytes:
    """A framed message."""
    body = json.dumps(message, default=str).encode("utf-8", "replace")
    return _HEADER.pack(len(body)) + body


def write_message(descriptor: int, message: Mapping[str, object]) -> None:
    """Write one framed message, all of it; raises OSError when the other side is gone."""
    data = memoryview(encode(message))
    while data:
        data = data[os.write(descriptor, data) :]


class MessageBuffer:
    """Collects bytes as they come and hands out whole messages."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[Any]:
        """The messages that ``data`` completes; raises ValueError for what is no message."""
        self._data += data
        messages = []
        while len(self._data) >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._data)
            if length > _MAX_MESSAGE:
                raise ValueError(f"a message of {length} bytes is over the limit of {_MAX_MESSAGE}")
            end = _HEADER.size + length
            if len(self._data) < end:
                break
            message = _decoded(bytes(self._data[_HEADER.size : end]))
            if not isinstance(message, dict):
                raise ValueError("a message must be an object")
            messages.append(message)
            del self._data[:end]
        return messages


def _decoded(body: bytes) -> Any:
    """What JSON says; raises ValueError for what is none, or is nested too deeply to be read."""
    try:
        return json.loads(body)
    except RecursionError as error:
        raise ValueError("a message is nested too deeply") from error


class Peer:
    """Whoever sends a fork server its jobs: the engine over two pipes, or a client of the service.

    Neither reading nor writing ever waits for the other side.

    Args:
        requests: the descriptor to read from.
        answers: the one to write to; closed, as ``requests`` is, by ``close``.
    """

    def __init__(self, requests: int, answers: int) -> None:
        self.requests = requests
        self.answers = answers
        self.gone = False
        self._inbox = MessageBuffer()
        self._outbox = bytearray()
        for descriptor in (requests, answers):
            os.set_blocking(descriptor, False)

    @property
    def unsent(self) -> bool:
        """Whether there is something left to write."""
        return bool(self._outbox) and not self.gone

    def receive(self) -> list[Any]:
        """The messages that have come; ``gone`` is set at the end, or after what is no message."""
        try:
            data = self.read()
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        try:
            messages = self._inbox.feed(data)
        except ValueError:
            messages, data = [], b""
        self.gone = self.gone or not data
        return messages

    def read(self) -> bytes:
        """Bytes that have come, empty at the end; raises BlockingIOError where there are none."""
        return os.read(self.requests, _CHUNK)

    def put(self, message: Mapping[str, object]) -> None:
        """Write a message, or as much of it as can be written now."""
        if not self.gone:
            self._outbox += encode(message)
            self.flush()

    def flush(self) -> None:
        """Write more of what is left; ``gone`` is set when no process reads it."""
        try:
            while self._outbox:
                del self._outbox[: os.write(self.answers, self._outbox[:_CHUNK])]
        except BlockingIOError:
            return
        except OSError:
            self.gone = True

    def close(self) -> None:
        """Close both descriptors."""
        self.gone = True
        for descriptor in {self.requests, self.answers}:
            with contextlib.suppress(OSError):
                os.close(descriptor)


class Wire:
    """A socket that speaks in messages; writing waits, reading waits up to the given time.

    ``gone`` is set once the other side has ended, or has sent what is no message.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._inbox = MessageBuffer()
        self._ready: deque[Any] = deque()
        self.gone = False

    def fileno(self) -> int:
        """For ``select``."""
        return self._socket.fileno()

    def send(self, message: Mapping[str, object], descriptor: int | None = None) -> None:
        """Write a message; ``descriptor`` goes with it. Raises OSError when there is no reader."""
        data = encode(message)
        if descriptor is not None:
            # The descriptor travels with the first byte; a full buffer may take only a part of
            # the rest, which must not send the descriptor again.
            sent = socket.send_fds(self._socket, [data], [descriptor])
            data = data[sent:]
        self._socket.sendall(data)

    def poll(self) -> Any:
        """The next message if one has come, else None; never waits."""
        while not self._ready and not self.gone and self._readable(0.0):
            self._read()
        return self._ready.popleft() if self._ready else None

    def wait(self, timeout_s: float) -> Any:
        """The next message; None when it has not come in time, or none will."""
        end = time.monotonic() + timeout_s
        while not self._ready and not self.gone:
            left = end - time.monotonic()
            if left <= 0 or not self._readable(left):
                break
            self._read()
        return self._ready.popleft() if self._ready else None

    def close(self) -> None:
        """Close this end."""
        self.gone = True
        with contextlib.suppress(OSError):
            self._socket.close()

    def _readable(self, timeout_s: float) -> bool:
        return bool(select.select([self._socket], [], [], timeout_s)[0])

    def _read(self) -> None:
        try:
            data = self._socket.recv(_CHUNK)
            self._ready.extend(self._inbox.feed(data))
        except (OSError, ValueError):
            data = b""
        self.gone = self.gone or not data


class Line(Peer):
    """The fork server's end of a coordinator: messages bring descriptors along, in order."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self.descriptors: deque[int] = deque()
        # A selector watches a descriptor once: one for each direction.
        super().__init__(end.fileno(), os.dup(end.fileno()))

    def read(self) -> bytes:
        """What has come; descriptors are put aside."""
        data, descriptors, *_ = socket.recv_fds(self._end, _CHUNK, _MOST_DESCRIPTORS)
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
            self.descriptors.append(descriptor)
        return data

    def close(self) -> None:
        """Close the socket, and what came and was not used."""
        self.gone = True
        self._end.close()
        os.close(self.answers)
        while self.descriptors:
            os.close(self.descriptors.popleft())
