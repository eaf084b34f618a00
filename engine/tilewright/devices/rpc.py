"""Jobs and answers over a pair of streams, for any number of threads; a worker's process."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import Any, BinaryIO, cast

from tilewright.worker.messages.envelope import Answer, Hello, Job, Request
from tilewright.worker.runtime.connections import MessageBuffer, encode

_CHUNK = 1 << 16
_TAIL = 4096
START_SECONDS = 180.0
ENDING_SECONDS = 2.0


class Pending:
    """A request on its way; ``answer`` is None if the worker ended first.

    ``started`` is set when the job's time begins, at the latest with ``done``.
    """

    def __init__(self) -> None:
        self.started = threading.Event()
        self.done = threading.Event()
        self.answer: Answer | None = None

    def finish(self, answer: Answer | None) -> None:
        """Set both events."""
        self.answer = answer
        self.started.set()
        self.done.set()


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
        reader: BufferedReader,
        writer: BinaryIO,
        ended: Callable[[], None],
        *,
        queued: bool = False,
        more: Request | None = None,
        heard: Callable[[Answer], Answer] | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._ended = ended
        self._queued = queued
        self._more: Request = more or {}
        self._heard = heard
        self._inbox = MessageBuffer()
        self._received: deque[Answer] = deque()
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

    def send(self, job: Job[Any], timeout_s: float) -> Pending:
        """Hand a job over; the answer, or the worker's end, sets ``done``."""
        return self.ask({"job": job, "timeout_s": timeout_s, **self._more})

    def ask(self, request: Request) -> Pending:
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

    def receive(self) -> Answer | None:
        """The next message, before ``start``; None at the end, or after what is no message."""
        while not self._received:
            try:
                data = self._reader.read1(_CHUNK)
                self._received.extend(self._inbox.feed(data))
            except (OSError, ValueError):
                return None
            if not data:
                return None
        return self._received.popleft()

    def _write(self, message: Request) -> bool:
        if self._writer.closed:
            return False
        try:
            self._writer.write(encode(message))
            self._writer.flush()
        except OSError:
            self._over = True  # half a message may have gone out
            return False
        return True

    def _read(self) -> None:
        """Until the end, or an answer that makes no sense: no caller waits for more after that."""
        try:
            while (message := self.receive()) is not None:
                self._take(message)
        finally:
            try:
                self._ended()
            finally:
                self._give_up()

    def _take(self, message: Answer) -> None:
        with self._lock:
            started = "started" in message
            pending = self._pending.get(message["id"])
            if not started:
                self._pending.pop(message["id"], None)
        if pending is not None and started:
            pending.started.set()
        elif pending is not None:
            self._finish(pending, message)

    def _finish(self, pending: Pending, message: Answer) -> None:
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


class WorkerChannel(ABC):
    """A running worker and the way to it; a subclass starts and greets it."""

    hello: Hello
    _talk: Conversation

    @property
    def alive(self) -> bool:
        return self._talk.alive

    @property
    @abstractmethod
    def pid(self) -> int:
        """Of the process here that is the worker, or that the way to it goes through."""

    def send(self, job: Job[Any], timeout_s: float) -> Pending:
        """Hand a job over; the answer, or the worker's end, sets ``done``."""
        return self._talk.send(job, timeout_s)

    @abstractmethod
    def answers(self) -> bool:
        """Whether it still does, asked while a job waits for its turn there."""

    def cancel_all(self) -> None:
        """Stop every job under way; each is answered as an error."""
        self._talk.cancel_all()

    @abstractmethod
    def close(self) -> None:
        """Leave the worker, and end it where it is this process's own."""


class ProcessChannel(WorkerChannel):
    """A worker at the other end of a process's pipes.

    Args:
        stop_s: how long the process may take to end by itself.
    """

    def __init__(self, process: subprocess.Popen[bytes], stop_s: float) -> None:
        self._process = process
        self._stop_s = stop_s
        self._stdout = cast("BufferedReader", process.stdout)
        self._stdin = cast("BinaryIO", process.stdin)
        self._stderr = bytearray()
        self._words = threading.Thread(target=self._read_stderr, daemon=True)
        self._words.start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None and super().alive

    @property
    def pid(self) -> int:
        """The process here."""
        return self._process.pid

    @property
    def last_words(self) -> str:
        """The last line that the process wrote to stderr."""
        lines = self._printed().strip().splitlines()
        return lines[-1].strip() if lines else ""

    def answers(self) -> bool:
        """Whether the worker is there; it starts each job at once, so that none waits."""
        return self.alive

    def _printed(self) -> str:
        """The tail of what the process wrote to stderr, once it has ended."""
        self._words.join(ENDING_SECONDS)
        return self._stderr.decode("utf-8", "replace")

    @contextlib.contextmanager
    def _limited(self) -> Iterator[threading.Event]:
        """Kill the process unless this ends in time; yields what is set before that."""
        over = threading.Event()

        def stop() -> None:
            over.set()
            self._process.kill()

        timer = threading.Timer(START_SECONDS, stop)
        timer.start()
        try:
            yield over
        finally:
            timer.cancel()  # or the code that interrupts this waits for it when the process ends

    def _reap(self, limit_s: float | None = None) -> bool:
        """Wait until the process has ended; False where it had to be killed."""
        try:
            self._process.wait(limit_s or self._stop_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return False
        return True

    def _read_stderr(self) -> None:
        stderr = cast("BufferedReader", self._process.stderr)
        while data := stderr.read1(_TAIL):
            self._stderr += data
            del self._stderr[:-_TAIL]
