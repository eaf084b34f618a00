"""The trusted process of a device: it hears one trial after the other."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import time
import traceback
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import confine
from ..jobs import measuring
from ..protocol import CRASHED, ERROR, LOST, OK, OUT_OF_MEMORY, JobError, OutOfMemoryError
from . import ahead
from .handle import Handle, PerformerEndedError
from .hearing import Hearing
from .originals import Originals
from .wire import Wire

_TICK_S = 5.0
_COMPILERS = max(1, min(4, (os.cpu_count() or 1) // 4))
# What reading an answer raises that is not as it should be: a performer may have forged it.
NONSENSE = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, OSError, OverflowError,
    RecursionError, AssertionError,
)  # fmt: skip


def main(job: dict[str, Any], parent: int) -> None:
    """Never returns: serve the zygote over ``job["channel"]`` until it is gone."""
    os.setsid()
    confine.die_with_parent(parent)
    confine.hide_from_ptrace()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    wire = Wire(socket.socket(fileno=job["channel"]))
    code = 1
    try:
        Judge(wire, str(job["device"]), Path(job["folder"])).serve()
        code = 0
    except BaseException:  # noqa: BLE001 - the worker loop's boundary
        traceback.print_exc()
    finally:
        os._exit(code)


@dataclass
class _Trial:
    """A trial that waits for its candidate to be imported and compiled, or for its turn.

    ``compilers``: performers of the candidate that fill its cache beside it.
    """

    number: int
    job: dict[str, Any]
    candidate: Handle
    deadline: float
    compilers: list[Handle] = field(default_factory=list)
    asked: float = field(default_factory=time.monotonic)
    prepared: dict[str, Any] | None = None
    failed: PerformerEndedError | None = None

    @property
    def ready(self) -> bool:
        compiled = not any(one.alive for one in self.compilers)
        return self.failed is not None or (self.prepared is not None and compiled)

    @property
    def wires(self) -> list[Wire]:
        """Who may say something that it waits for."""
        return [self.candidate.wire, *(one.wire for one in self.compilers)]


class Judge:
    """Prepares candidates side by side, and hears them one at a time."""

    def __init__(self, wire: Wire, device: str, folder: Path) -> None:
        self._wire = wire
        self._folder = folder / f"judge-{os.getpid()}"
        self._folder.mkdir(mode=0o700)
        self._handles: dict[str, Handle] = {}
        self._trials: deque[_Trial] = deque()
        self._next = 0
        self._target = measuring.target_of(device) if device.startswith("cuda") else None
        self._originals = Originals(device, self._folder / "kept", self._start)

    def serve(self) -> None:
        """Until the zygote is gone."""
        try:
            while not self._wire.gone:
                waiting = [trial for trial in self._trials if not trial.ready]
                self._listen(_TICK_S, [wire for trial in waiting for wire in trial.wires])
                self._look()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _listen(self, timeout_s: float, others: list[Wire]) -> None:
        """Wait until somebody says something, and take what the zygote says."""
        message = self._wire.poll()
        if message is None and not self._wire.gone:
            open_ones = [wire for wire in others if not wire.gone]
            select.select([self._wire, *open_ones], [], [], timeout_s)
            message = self._wire.poll()
        while message is not None:
            self._take(message)
            message = self._wire.poll()
        if self._wire.gone:
            os._exit(0)

    def _take(self, message: dict[str, Any]) -> None:
        if "trial" in message:
            self._admit(message)
        elif "ended" in message:
            handle = self._handles.pop(message["ended"], None)
            if handle is not None:
                handle.ended = (message["status"], _reason(message))
        elif "cancel" in message:
            for trial in self._trials:
                if trial.number == message["cancel"]:
                    self._end(trial.candidate.key, ERROR, "was cancelled")

    def _admit(self, message: dict[str, Any]) -> None:
        job, timeout_s = message["job"], float(message["timeout_s"])
        told = {**job["performer"], "module": job["candidate"]}
        if self._target is not None:
            cache = self._folder / f"cache-{message['trial']}"
            cache.mkdir(mode=0o700)
            told["cache"] = str(cache)
        candidate = self._start(told, timeout_s)
        trial = _Trial(message["trial"], job, candidate, time.monotonic() + timeout_s)
        self._trials.append(trial)
        with contextlib.suppress(OSError):  # one that is gone is noticed when it is looked at
            candidate.wire.send({"do": "prepare"})
            for checks in ahead.shares(job, _COMPILERS) if self._target is not None else ():
                compiler = self._start({**told, "compiles": True}, timeout_s)
                trial.compilers.append(compiler)
                compiler.wire.send({"do": "compile", "checks": checks, "target": self._target})

    def _start(self, job: dict[str, Any], timeout_s: float) -> Handle:
        """Have the zygote start a performer; 0 seconds: for as long as it is wanted."""
        self._next += 1
        key = str(self._next)
        ours, theirs = socket.socketpair()
        folder = self._folder / key
        handle = Handle(key, Wire(ours), folder, self._attend, self._end)
        for place in (handle.inbox, handle.outbox):
            place.mkdir(mode=0o700, parents=True)
        self._handles[key] = handle
        told = {
            **job, "kind": "perform", "out": str(handle.outbox), "reads": [str(handle.inbox)],
        }  # fmt: skip
        with theirs:
            self._wire.send({"perform": key, "job": told, "timeout_s": timeout_s}, theirs.fileno())
        return handle

    def _attend(self, wire: Wire, timeout_s: float) -> None:
        self._listen(timeout_s, [wire])

    def _end(self, key: str, status: str, message: str) -> None:
        with contextlib.suppress(OSError):
            self._wire.send({"kill": key, "status": status, "message": message})

    def _look(self) -> None:
        """Note who is prepared, and hear the first of them."""
        for trial in self._trials:
            if not trial.ready:
                _note(trial)
        ready = next((trial for trial in self._trials if trial.ready), None)
        if ready is not None:
            answer = self._hear(ready)
            self._trials.remove(ready)
            for performer in (ready.candidate, *ready.compilers):
                performer.close()
            shutil.rmtree(self._folder / f"cache-{ready.number}", ignore_errors=True)
            self._wire.send({"answer": ready.number, **answer})

    def _hear(self, trial: _Trial) -> dict[str, Any]:
        start = time.monotonic()
        waits = {"waited_s": start - trial.asked}
        try:
            value = Hearing(self._originals, trial.candidate, trial.job, trial.deadline).value(
                trial.prepared, trial.failed
            )
        except PerformerEndedError as error:
            return _answer(error.status, str(error))
        except JobError as error:
            return _answer(ERROR, str(error))
        except OutOfMemoryError as error:
            return _answer(OUT_OF_MEMORY, str(error))
        except NONSENSE as error:
            return _answer(CRASHED, f"gave an answer that makes no sense: {_described(error)}")
        return _answer(OK, "", {**value, **waits, "heard_s": time.monotonic() - start})


def _note(trial: _Trial) -> None:
    for compiler in trial.compilers:
        if compiler.alive and compiler.wire.poll() is not None:
            compiler.close()
    if trial.prepared is None and trial.failed is None:
        _note_candidate(trial)


def _note_candidate(trial: _Trial) -> None:
    handle = trial.candidate
    try:
        reply = handle.wire.poll()
        if reply is None and handle.alive:
            return
        trial.prepared = reply if reply and "failed" not in reply else None
        if trial.prepared is None:
            failed = reply or {}
            status, message = handle.ended or (LOST, "ended without a word")
            trial.failed = PerformerEndedError(
                failed.get("failed") or status, failed.get("message") or message
            )
            if reply is None and handle.ended is None:
                trial.failed = None  # the zygote has yet to say how it ended
    except PerformerEndedError as error:
        trial.failed = error


def _described(error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"


def _reason(message: dict[str, Any]) -> str:
    text = str(message.get("message") or "ended without giving a result")
    tail = str(message.get("output") or "").strip()[-400:]
    return f"{text} (it printed: {tail})" if tail else text


def _answer(status: str, message: str, value: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"status": status, "message": message, "value": value or {}}
