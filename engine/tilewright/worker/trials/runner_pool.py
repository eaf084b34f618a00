"""The runners a coordinator has had started, and what the fork server says of them."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..runtime.connections import Wire
from .runner_handle import Handle, RunnerEndedError

_TAIL = 400


class RunnerPool:
    """Asks the fork server for runners; may be used from several threads.

    Args:
        fork_server: the wire to it.
        folder: where each runner has a folder of its own.
    """

    def __init__(self, fork_server: Wire, folder: Path) -> None:
        self._fork_server = fork_server
        self._folder = folder
        self._handles: dict[str, Handle] = {}
        self._next = 0
        self._lock = threading.Lock()

    def start(
        self, job: Mapping[str, Any], timeout_s: float,
        ends: type[RunnerEndedError] = RunnerEndedError,
    ) -> Handle:  # fmt: skip
        """Have a runner started; with 0 seconds it may stay as long as it is wanted."""
        ours, theirs = socket.socketpair()
        with self._lock, theirs:
            self._next += 1
            key = str(self._next)
            handle = Handle(key, Wire(ours), self._folder / key, self.end, ends)
            for place in (handle.inbox, handle.outbox):
                place.mkdir(mode=0o700, parents=True)
            self._handles[key] = handle
            told = {
                **job, "kind": "perform", "out": str(handle.outbox), "reads": [str(handle.inbox)],
            }  # fmt: skip
            message = {"perform": key, "job": told, "timeout_s": timeout_s}
            self._fork_server.send(message, theirs.fileno())
        return handle

    def end(self, key: str, status: str, message: str) -> None:
        """Have one killed, and say why."""
        self.tell({"kill": key, "status": status, "message": message})

    def tell(self, message: dict[str, Any]) -> None:
        """Say something to the fork server; it does not matter if that is gone."""
        with self._lock, contextlib.suppress(OSError):
            self._fork_server.send(message)

    def has_begun(self, message: Mapping[str, Any]) -> None:
        """Note which process one is."""
        handle = self._handles.get(message["begun"])
        if handle is not None:
            handle.patience.process = int(message["process"])

    def has_ended(self, message: Mapping[str, Any]) -> None:
        """Note what the fork server says of one that is gone."""
        handle = self._handles.pop(message["ended"], None)
        if handle is not None:
            handle.has_ended(str(message["status"]), _reason(message))


def _reason(message: Mapping[str, Any]) -> str:
    text = str(message.get("message") or "ended without giving a result")
    tail = str(message.get("output") or "").strip()[-_TAIL:]
    return f"{text} (it printed: {tail})" if tail else text
