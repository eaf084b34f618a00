"""The judge's hold on a performer: its socket, its folders, and what became of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import processes
from ..protocol import CRASHED, ERROR, TIMEOUT
from .wire import Wire

_ENDING_S = 10.0
_TICK_S = 0.5
_IDLE_S = 10.0


class PerformerEndedError(Exception):
    """A performer is gone, or refused what it was asked: ``status`` as of a job, and why."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Patience:
    """How long a performer is waited for: by the work that it does, not by how busy its host is.

    Attributes:
        process: its first process; None until that is known.
    """

    process: int | None = None
    _begun: float = field(default_factory=time.monotonic)
    _used: float = 0.0
    _moved: float = field(default_factory=time.monotonic)
    _seen: float = 0.0

    def begin(self) -> None:
        """From now on."""
        self._begun = self._moved = time.monotonic()
        self._used = self._seen = self._spent()[0]

    def exceeded(self, limit_s: float) -> str:
        """The limit that it is over, in words; empty as long as it still works within it.

        Over is who has had that much processor time, or does nothing any more.
        """
        now = time.monotonic()
        if now - self._begun < limit_s:
            return ""
        used, is_running = self._spent()
        if self.process is None or used - self._used >= limit_s:
            return f"{limit_s:g} s"
        if is_running or used > self._seen:
            self._seen, self._moved = used, now
        idle = now - self._moved
        return f"{limit_s:g} s (the last {idle:.0f} s of them idle)" if idle >= _IDLE_S else ""

    def _spent(self) -> tuple[float, bool]:
        return (0.0, False) if self.process is None else processes.cpu_seconds(self.process)


@dataclass
class Handle:
    """One performer.

    Attributes:
        inbox: where it finds the inputs of a call; it may read there.
        outbox: where it leaves what it made; it may write there.
        end: has the zygote kill it, with a status and the reason.
        ended: status and reason, once the zygote has said that it is gone.
        prepared: what it answered when it was told to prepare.
        spent_s: seconds waited for its answers, by what was asked.
        patience: how long it may work.
    """

    key: str
    wire: Wire
    folder: Path
    end: Callable[[str, str, str], None]
    ended: tuple[str, str] | None = None
    prepared: dict[str, Any] | None = None
    calls: int = 0
    held: list[Path] = field(default_factory=list)
    spent_s: dict[str, float] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)
    _over: threading.Event = field(default_factory=threading.Event)

    @property
    def inbox(self) -> Path:
        return self.folder / "in"

    @property
    def outbox(self) -> Path:
        return self.folder / "out"

    @property
    def alive(self) -> bool:
        return self.ended is None and not self.wire.gone

    def ask(self, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Have it do one thing; raises PerformerEndedError when that gives no result."""
        start = time.monotonic()
        self.patience.begin()
        with contextlib.suppress(OSError):  # one that is gone says so below
            self.wire.send(message)
        try:
            return self.reply(timeout_s)
        finally:
            what = str(message["do"])
            self.spent_s[what] = self.spent_s.get(what, 0.0) + time.monotonic() - start

    def reply(self, timeout_s: float) -> dict[str, Any]:
        """The answer to what was sent before; ``timeout_s``: of its work (``Patience``)."""
        reply, over = self.wire.wait(timeout_s), ""
        while reply is None and not self.wire.gone and not over:
            over = self.patience.exceeded(timeout_s)
            reply = None if over else self.wire.wait(_TICK_S)
        if reply is None and self.wire.gone:
            raise self._gone()
        if reply is None:
            text = f"did not finish within {over} and was stopped"
            self.end(self.key, TIMEOUT, text)
            raise PerformerEndedError(TIMEOUT, text)
        if "failed" in reply:
            raise PerformerEndedError(str(reply["failed"]), str(reply.get("message") or ""))
        return reply

    def place(self, manifest: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Lend the files of a manifest to the performer, until ``clear``."""
        placed = []
        for entry in manifest:
            if "file" in entry:
                link = self.inbox / f"{len(self.held)}.bin"
                os.link(entry["file"], link)
                self.held.append(link)
                entry = {**entry, "file": str(link)}
            placed.append(entry)
        return placed

    def clear(self) -> None:
        """Take back what was lent, and remove what it wrote."""
        for link in self.held:
            link.unlink(missing_ok=True)
        self.held.clear()
        for left in self.outbox.iterdir() if self.outbox.is_dir() else ():
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)

    def close(self) -> None:
        """Have it ended, whatever it does, and remove its folder."""
        if self.ended is None:
            self.end(self.key, ERROR, "is no longer wanted")
        self.wire.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def has_ended(self, status: str, message: str) -> None:
        """Note how it ended."""
        self.ended = (status, message)
        self._over.set()

    def _gone(self) -> PerformerEndedError:
        self._over.wait(_ENDING_S)
        status, message = self.ended or (CRASHED, "ended without a word")
        return PerformerEndedError(status, message)


def owned(manifest: Sequence[Mapping[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """A manifest whose files lie in ``folder``, links resolved; others are refused."""
    kept = []
    root = folder.resolve()
    for entry in manifest:
        if "file" in entry and root not in Path(str(entry["file"])).resolve().parents:
            raise PerformerEndedError(CRASHED, "named a result that is not its own")
        kept.append(dict(entry))
    return kept
