"""Stream from the client to the agent: requests, file uploads, heartbeats."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Sequence
from typing import BinaryIO

from tilewright.worker.messages.parts import SentFile
from tilewright.worker.remote.agent import BEAT, BEAT_S, FILES, LINK, REQUEST


class Link:
    """The writing side of a connection; safe for several threads.

    ``write`` takes one framed request at a time, as ``Conversation`` writes them.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._silent = threading.Event()

    def start(self) -> None:
        """Tell from now on that the engine is there."""
        threading.Thread(target=self._beat, daemon=True, name="tilewright-ssh").start()

    @property
    def closed(self) -> bool:
        return self._stream.closed

    def write(self, request: bytes) -> int:
        """Send a framed request; raises OSError where the connection is cut."""
        self._send(REQUEST, request)
        return len(request)

    def put(self, entries: Sequence[SentFile], contents: bytes) -> None:
        """Send files, as ``worker.mirror`` has them; raises OSError as ``write`` does."""
        self._send(FILES, json.dumps(entries).encode() + b"\n" + contents)

    def raw(self, data: bytes) -> None:
        """Send what the first code there reads, before there is a keeper."""
        with self._lock:
            self._stream.write(data)
            self._stream.flush()

    def flush(self) -> None:
        """Nothing is held back."""

    def stop(self) -> None:
        """Give no more signs of life."""
        self._silent.set()

    def close(self) -> None:
        """Send no more; the keeper takes that as the end."""
        self.stop()
        with self._lock, contextlib.suppress(OSError):  # ssh may have ended
            self._stream.close()

    def _send(self, kind: bytes, body: bytes) -> None:
        try:
            self.raw(LINK.pack(kind, len(body)) + body)
        except ValueError as error:  # closed meanwhile
            raise OSError("the connection is closed") from error

    def _beat(self) -> None:
        while not self._silent.wait(BEAT_S):
            try:
                self._send(BEAT, b"")
            except OSError:
                return
