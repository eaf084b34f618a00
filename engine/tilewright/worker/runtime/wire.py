"""Framed messages over a socket, and descriptors that travel along."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections import deque
from typing import Any

from ..protocol import MessageBuffer, encode
from .connections import Peer

_CHUNK = 1 << 16
_MOST_DESCRIPTORS = 4


class Wire:
    """A socket that speaks in messages; writing waits, reading waits as long as it is told.

    ``gone`` is set once the other side has ended, or has sent what is no message.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._inbox = MessageBuffer()
        self._ready: deque[dict[str, Any]] = deque()
        self.gone = False

    def fileno(self) -> int:
        """For ``select``."""
        return self._socket.fileno()

    def send(self, message: dict[str, Any], descriptor: int | None = None) -> None:
        """Write a message; ``descriptor`` goes with it. Raises OSError when nobody is there."""
        data = encode(message)
        if descriptor is not None:
            # The descriptor travels with the first byte; a full buffer may take only a part of
            # the rest, which must not send the descriptor again.
            sent = socket.send_fds(self._socket, [data], [descriptor])
            data = data[sent:]
        self._socket.sendall(data)

    def poll(self) -> dict[str, Any] | None:
        """The next message if one has come, else None; never waits."""
        while not self._ready and not self.gone and self._readable(0.0):
            self._read()
        return self._ready.popleft() if self._ready else None

    def wait(self, timeout_s: float) -> dict[str, Any] | None:
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
    """A judge as the zygote sees it: a peer whose messages bring descriptors along, in order."""

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
