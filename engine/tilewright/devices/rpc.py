"""Jobs and answers over a pair of streams, for as many threads as like to send."""

from __future__ import annotations

import contextlib
import json
import struct
import threading
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Protocol

_HEADER = struct.Struct(">I")


class Pending:
    """A request on its way; ``answer`` is None if the worker ended first.

    ``started`` is set when the job's time begins, at the latest with ``done``.
    """

    def __init__(self) -> None:
        self.started = threading.Event()
        self.done = threading.Event()
        self.answer: dict[str, Any] | None = None

    def finish(self, answer: dict[str, Any] | None) -> None:
        """Set both events."""
        self.answer = answer
        self.started.set()
        self.done.set()


class AnyChannel(Protocol):
    """A running worker and the way to it."""

    @property
    def hello(self) -> Mapping[str, Any]: ...

    @property
    def alive(self) -> bool: ...

    @property
    def pid(self) -> int: ...

    def send(self, job: Mapping[str, Any], timeout_s: float) -> Pending: ...

    def answers(self) -> bool:
        """Whether it still does, asked while a job waits for its turn there."""
        ...

    def cancel_all(self) -> None: ...

    def close(self) -> None: ...


class Conversation:
    """Framed messages with one worker.

    Args:
        queued: the worker tells when it starts a job; else it starts each at once.
        ended: called in the reader's thread when the worker says no more, before the requests that
            are left are given up.
        heard: makes of each answer the one that is handed on.
    """

    def __init__(
        self,
        reader: BinaryIO,
        writer: BinaryIO,
        ended: Callable[[], None],
        *,
        queued: bool = False,
        more: Mapping[str, Any] | None = None,
        heard: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._ended = ended
        self._queued = queued
        self._more = dict(more or {})
        self._heard = heard
        self._lock = threading.Lock()
        self._pending: dict[int, Pending] = {}
        self._number = 0
        self._over = False
        self._thread = threading.Thread(target=self._read, daemon=True, name="tilewright-worker")

    @property
    def alive(self) -> bool:
        return self._thread.is_alive() and not self._over

    def start(self) -> None:
        """Read answers from now on."""
        self._thread.start()

    def send(self, job: Mapping[str, Any], timeout_s: float) -> Pending:
        """Hand a job over; the answer, or the worker's end, sets ``done``."""
        return self.ask({"job": dict(job), "timeout_s": timeout_s, **self._more})

    def ask(self, request: Mapping[str, Any]) -> Pending:
        """Send any request that is answered."""
        pending = Pending()
        if not self._queued:
            pending.started.set()
        with self._lock:
            self._number += 1
            number = self._number
            self._pending[number] = pending
            if not (self.alive and self._write({"id": number, **request})):
                self._pending.pop(number, None)
                pending.finish(None)
        return pending

    def cancel_all(self) -> None:
        """Stop every job under way; each is answered as an error."""
        with self._lock:
            for number in self._pending:
                self._write({"cancel": number})

    def close(self) -> None:
        """Send no more."""
        with self._lock, contextlib.suppress(OSError):
            self._writer.close()

    def receive(self) -> dict[str, Any] | None:
        """The next message, before ``start``; None at the end."""
        try:
            header = self._reader.read(_HEADER.size)
            if len(header) < _HEADER.size:
                return None
            (length,) = _HEADER.unpack(header)
            body = self._reader.read(length)
        except (OSError, ValueError):
            return None
        if len(body) < length:
            return None
        message: dict[str, Any] = json.loads(body)
        return message

    def _write(self, message: Mapping[str, Any]) -> bool:
        body = json.dumps(message).encode()
        if self._writer.closed:
            return False
        try:
            self._writer.write(_HEADER.pack(len(body)) + body)
            self._writer.flush()
        except OSError:
            self._over = True  # half a message may have gone out
            return False
        return True

    def _read(self) -> None:
        """Until the end, or an answer that makes no sense: nobody waits for more after that."""
        try:
            while (message := self.receive()) is not None:
                self._take(message)
        finally:
            try:
                self._ended()
            finally:
                self._give_up()

    def _take(self, message: dict[str, Any]) -> None:
        with self._lock:
            started = "started" in message
            pending = self._pending.get(message["id"])
            if not started:
                self._pending.pop(message["id"], None)
        if pending is not None and started:
            pending.started.set()
        elif pending is not None:
            self._finish(pending, message)

    def _finish(self, pending: Pending, message: dict[str, Any]) -> None:
        answer = None
        try:
            answer = self._heard(message) if self._heard else message
        finally:
            pending.finish(answer)

    def _give_up(self) -> None:
        """Have nobody wait any longer, nor begin to."""
        with self._lock:
            self._over = True
            left, self._pending = self._pending, {}
        for pending in left.values():
            pending.finish(None)
