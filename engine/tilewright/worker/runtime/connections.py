"""Who sends a zygote its jobs: the engine over two pipes, or a client of the service."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from ..protocol import MessageBuffer, encode

_CHUNK = 1 << 16


class Peer:
    """Messages in and out, neither of which ever waits for the other side.

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

    def receive(self) -> list[dict[str, Any]]:
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

    def put(self, message: dict[str, Any]) -> None:
        """Write a message, or as much of it as can be written now."""
        if not self.gone:
            self._outbox += encode(message)
            self.flush()

    def flush(self) -> None:
        """Write more of what is left; ``gone`` is set when nobody reads it."""
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
