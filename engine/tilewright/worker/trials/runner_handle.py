"""The coordinator's hold on a runner: its socket, its folders, and what became of it."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..protocol import CRASHED, ERROR, FAULT, LOST, TIMEOUT, HarnessError
from ..runtime import job_process, process_tree
from ..runtime.connections import Wire

if TYPE_CHECKING:
    from ..messages.parts import Entries
    from ..messages.trial import Prepared

_ENDING_S = 10.0
_TICK_S = 0.5
_IDLE_S = 10.0
# What making sense of an answer raises that is not as it should be: it may be forged.
_NONSENSE = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, OSError, OverflowError,
    RecursionError, RuntimeError,
)  # fmt: skip
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)
_OF_A_DRIVER = ("cuda error", "hip error", "driver error", "ur error", "device-side")


class RunnerEndedError(Exception):
    """A runner is gone, or refused what it was asked: ``status`` as of a job, and why."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


class CandidateEndedError(RunnerEndedError):
    """The candidate's own runner; of others' ends nothing follows for the candidate."""


class BrokenOffError(Exception):
    """Nothing can be said of the candidate: ``status`` as of a trial's answer, and why."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Patience:
    """How long a runner is waited for: by the work that it does, not by how busy its host is.

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
        self._used = self._seen = self._cpu_seconds()[0]

    def exceeded(self, limit_s: float) -> str:
        """The limit that it is over, in words; empty as long as it still works within it.

        Over is who has had that much processor time, or does nothing any more.
        """
        now = time.monotonic()
        if now - self._begun < limit_s:
            return ""
        used, is_running = self._cpu_seconds()
        if self.process is None or used - self._used >= limit_s:
            return f"{limit_s:g} s"
        if is_running or used > self._seen:
            self._seen, self._moved = used, now
        idle = now - self._moved
        return f"{limit_s:g} s (the last {idle:.0f} s of them idle)" if idle >= _IDLE_S else ""

    def _cpu_seconds(self) -> tuple[float, bool]:
        return (0.0, False) if self.process is None else process_tree.cpu_seconds(self.process)


@dataclass
class Handle:
    """One runner.

    Attributes:
        inbox: where it finds the inputs of a call; it may read there.
        outbox: where it leaves what it made; it may write there.
        end: has the fork server kill it, with a status and the reason.
        ended: status and reason, once the fork server has said that it is gone.
        prepared: what it answered when it was told to prepare.
        preparing: whether it was told, and its answer has not been waited for.
        spent_s: seconds waited for its answers, by what was asked.
        patience: how long it may work.
        ends: what is raised when it is gone, or answers nonsense.
    """

    key: str
    wire: Wire
    folder: Path
    end: Callable[[str, str, str], None]
    ends: type[RunnerEndedError] = RunnerEndedError
    ended: tuple[str, str] | None = None
    prepared: Prepared | None = None
    preparing: bool = False
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

    def prepare(self) -> None:
        """Tell it to prepare, and wait for nothing; one that is gone says so in its ``reply``."""
        self.preparing = True
        self.patience.begin()
        with contextlib.suppress(OSError):
            self.wire.send({"do": "prepare"})

    def ask(self, message: Mapping[str, object], timeout_s: float) -> Any:
        """Have it do one thing; raises RunnerEndedError when that gives no result."""
        start = time.monotonic()
        self.patience.begin()
        with contextlib.suppress(OSError):  # one that is gone says so below
            self.wire.send(message)
        try:
            return self.reply(timeout_s)
        finally:
            what = str(message["do"])
            self.spent_s[what] = self.spent_s.get(what, 0.0) + time.monotonic() - start

    def reply(self, timeout_s: float) -> Any:
        """The answer to what was sent before; ``timeout_s``: of its work (``Patience``)."""
        reply, over = self.wire.wait(timeout_s), ""
        while reply is None and not self.wire.gone and not over:
            over = self.patience.exceeded(timeout_s)
            reply = None if over else self.wire.wait(_TICK_S)
        if reply is None and self.wire.gone:
            raise self._end_error()
        if reply is None:
            text = f"did not finish within {over} and was stopped"
            self.end(self.key, TIMEOUT, text)
            raise self.ends(TIMEOUT, text)
        if "failed" in reply:
            status, text = str(reply["failed"]), str(reply.get("message") or "")
            if reply.get("spent") is True:
                self.end(self.key, status, text)
                self._over.wait(_ENDING_S)
            raise self.failed(status, text)
        return dict(reply)

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Its answers are made sense of: where there is none in them, it is at fault."""
        try:
            yield
        except _NONSENSE as error:
            if _is_the_readers(error) or not self.outbox.is_dir():
                raise
            told = f"gave an answer that makes no sense: {_described(error)}"
            raise self.ends(CRASHED, told) from error

    def failed(self, status: str, message: str) -> Exception:
        """What to raise for an end: it says nothing of a version that was never started."""
        if status in (LOST, FAULT):
            return HarnessError(message)
        return self.ends(status, message)

    def place(self, manifest: Entries) -> Entries:
        """Lend the files of a manifest to the runner, until ``clear``."""
        placed: Entries = []
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
            self.end(self.key, ERROR, "is not needed any more")
        self.wire.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def has_ended(self, status: str, message: str) -> None:
        """Note how it ended."""
        self.ended = (status, message)
        self._over.set()

    def _end_error(self) -> Exception:
        self._over.wait(_ENDING_S)
        status, message = self.ended or (CRASHED, "ended without output")
        return self.failed(status, message)


def owned(manifest: Entries, folder: Path) -> Entries:
    """A manifest whose files lie in ``folder``, links resolved. Raises ValueError for others."""
    root = folder.resolve()
    for entry in manifest:
        if "file" in entry and root not in Path(str(entry["file"])).resolve().parents:
            raise ValueError("it named a result that is not its own")
    return manifest


@contextlib.contextmanager
def judging() -> Iterator[None]:
    """What goes wrong here is the coordinator's own, even where a runner's answers are read around
    it: HarnessError."""
    try:
        yield
    except _NONSENSE as error:
        if _is_the_readers(error):
            raise
        raise HarnessError(_described(error)) from error


def is_of_a_driver(error: BaseException) -> bool:
    """Whether a device failed, after which nothing more can be judged on it in this process."""
    told = any(words in str(error).lower() for words in _OF_A_DRIVER)
    return told and isinstance(error, RuntimeError) and not job_process.is_out_of_memory(error)


def _is_the_readers(error: BaseException) -> bool:
    """Whether an error is the coordinator's own, whatever it was reading."""
    no_room = isinstance(error, OSError) and error.errno in NO_ROOM
    return no_room or job_process.is_out_of_memory(error) or is_of_a_driver(error)


def _described(error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
