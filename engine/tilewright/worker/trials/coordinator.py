"""The trusted process of a device: prepares candidates in parallel and runs trials."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import threading
import time
import traceback
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..jobs import measure
from ..protocol import (
    ERROR,
    FAULT,
    OK,
    OUT_OF_MEMORY,
    TIMEOUT,
    HarnessError,
    JobError,
)
from ..runtime import job_process
from ..runtime.connections import Wire
from ..sandbox import confinement
from . import precompilation
from .baselines import Originals, runner_of
from .cache_folders import Caches
from .device_lock import Turns
from .interpreter_pass import Watching
from .runner_handle import (
    NO_ROOM,
    BrokenOffError,
    CandidateEndedError,
    Handle,
    RunnerEndedError,
    is_of_a_driver,
)
from .runner_pool import RunnerPool
from .timed_contest import timed_checks
from .trial import Hearing, first_checks
from .version import is_on_host

if TYPE_CHECKING:
    from ..messages.jobs import CoordinatorJob
    from ..messages.trial import Check, Prepared, RunnerJob, TrialJob

_TICK_S = 5.0
_READY_S = 60.0
_CPUS = os.cpu_count() or 1
_COMPILERS = max(1, min(4, _CPUS // 4))
_HEARINGS = max(1, min(4, _CPUS // 2))
# Processes and threads: host code that forks without end is not ended by patience while compiling.
_OF_A_COMPILER = 64 + 2 * _CPUS
_TRACEBACK_TAIL = 6000


def main(job: CoordinatorJob, parent: int) -> None:
    """Never returns: serve the fork server over ``job["channel"]`` until it is gone."""
    os.setpgid(0, 0)
    confinement.die_with_parent(parent)
    confinement.hide_from_ptrace()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    if is_on_host(job["device"]):
        torch.set_num_threads(1)  # small results, and candidates that compute beside it
    wire = Wire(socket.socket(fileno=job["channel"]))
    code = 1
    try:
        Coordinator(wire, str(job["device"]), Path(job["folder"])).serve()
        code = 0
    except BaseException:  # noqa: BLE001 - the worker loop's boundary
        traceback.print_exc()
    finally:
        os._exit(code)


@dataclass
class _Trial:
    """A trial that waits for its candidate to be imported and compiled, or is being heard.

    ``compilers``: runners of the candidate that fill its cache beside it; ``rest``: those that
    do so for checks which come after the time is taken.
    """

    number: int
    job: TrialJob
    told: RunnerJob
    candidate: Handle
    deadline: float
    compilers: list[Handle] = field(default_factory=list)
    asked: float = field(default_factory=time.monotonic)
    prepared: Prepared | None = None
    failed: Exception | None = None
    cancelled: bool = False
    begun: bool = False
    compiled: list[Prepared] = field(default_factory=list)
    rest: list[Handle] = field(default_factory=list)

    @property
    def ready(self) -> bool:
        compiled = not any(one.alive for one in self.compilers)
        return self.failed is not None or (self.prepared is not None and compiled)

    @property
    def wires(self) -> list[Wire]:
        """Who may say something that it waits for."""
        return [self.candidate.wire, *(one.wire for one in self.compilers)]


class Coordinator:
    """Listens in one thread, and hears each trial in another."""

    def __init__(self, wire: Wire, device: str, folder: Path) -> None:
        self._wire = wire
        self._folder = folder / f"judge-{os.getpid()}"
        self._folder.mkdir(mode=0o700)
        self._caches = Caches(device, self._folder)
        self._runners = RunnerPool(wire, self._folder)
        self._trials: list[_Trial] = []
        self._target = measure.target_of(device) if device.startswith("cuda") else None
        self._originals = Originals(device, self._folder / "kept", self._start_original)
        self._watching = Watching(self._folder, self._runners)
        self._turns = Turns()
        self._begun: set[str] = set()
        # In the interpreter a second hearing would take the first one's processor.
        self._most = 1 if is_on_host(device) else _HEARINGS
        self._heard, self._bell = socket.socketpair()

    def serve(self) -> None:
        """Until the fork server is gone."""
        try:
            while not self._wire.gone:
                self._listen()
                self._look()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _listen(self) -> None:
        """Wait until somebody says something, and take what the fork server says."""
        message = self._wire.poll()
        if message is None and not self._wire.gone:
            waiting = [trial for trial in self._trials[:] if not trial.ready]
            wires = [wire for trial in waiting for wire in trial.wires if not wire.gone]
            ends: list[Any] = [self._wire, self._heard, *wires]
            readable = select.select(ends, [], [], _TICK_S)[0]
            if self._heard in readable:
                self._heard.recv(1)
            message = self._wire.poll()
        while message is not None:
            self._take(message)
            message = self._wire.poll()
        if self._wire.gone:
            shutil.rmtree(self._folder, ignore_errors=True)
            os._exit(0)

    def _take(self, message: dict[str, Any]) -> None:
        if "trial" in message:
            self._admit(message)
        elif "begun" in message:
            self._runners.has_begun(message)
        elif "ended" in message:
            self._runners.has_ended(message)
        elif "cancel" in message:
            for trial in self._trials[:]:
                if trial.number == message["cancel"]:
                    trial.cancelled = True
                    self._runners.end(trial.candidate.key, ERROR, "was cancelled")

    def _admit(self, message: dict[str, Any]) -> None:
        job: TrialJob = message["job"]
        timeout_s = float(message["timeout_s"])
        told = runner_of(job, job["candidate"])
        told["allow"] = job.get("allow") or ()
        if "timing" in job:
            told["baseline"] = job["timing"]["baseline"]
        kept = (job["original"], told.get("baseline"))
        told = {**told, **self._caches.of_candidate(message["trial"], *kept)}
        candidate = self._runners.start(told, timeout_s, CandidateEndedError)
        trial = _Trial(message["trial"], job, told, candidate, time.monotonic() + timeout_s)
        self._trials.append(trial)
        with contextlib.suppress(OSError):  # one that is gone is noticed when it is looked at
            candidate.wire.send({"do": "prepare"})
            trial.compilers += self._compilers(told, _compiled_first(job), timeout_s)
            trial.rest += self._compilers(told, _compiled_later(job), timeout_s)
        threading.Thread(target=self._begin_original, args=(job, timeout_s), daemon=True).start()

    def _begin_original(self, job: TrialJob, timeout_s: float) -> None:
        """Have the original compiled, and its results on the first check and on what is timed,
        while the candidate gets ready and makes its first call. What fails is told when it is due.
        """
        checks = [*(first_checks(job["checks"]) or job["checks"][:1]), *timed_checks(job)]
        with contextlib.suppress(RunnerEndedError, HarnessError, JobError, OSError):
            if job["original"] not in self._begun:
                self._begun.add(job["original"])
                cached = self._caches.of_kept(job["original"])
                told: RunnerJob = {**runner_of(job, job["original"]), **cached}
                for compiler in self._compilers(told, job["checks"], timeout_s):
                    threading.Thread(target=_until_compiled, args=(compiler,), daemon=True).start()
            for check in checks:
                with self._turns.shared():
                    if self._originals.base(job, check).failure:
                        return

    def _start_original(self, job: RunnerJob, timeout_s: float) -> Handle:
        """A runner that is kept."""
        return self._runners.start({**job, **self._caches.of_kept(job["module"])}, timeout_s)

    def _compilers(self, told: RunnerJob, checks: list[Check], timeout_s: float) -> list[Handle]:
        """Start to compile for checks, in processes of their own; none where nothing compiles."""
        started = []
        for share in precompilation.shares(checks, _COMPILERS) if self._target is not None else ():
            few: RunnerJob = {**told, "compiles": True, "processes": _OF_A_COMPILER}
            compiler = self._runners.start(few, timeout_s)
            started.append(compiler)
            with contextlib.suppress(OSError):  # one that could not be forked; nobody depends on it
                compiler.wire.send({"do": "compile", "checks": share, "target": self._target})
        return started

    def _compile_rest(self, trial: _Trial, checks: list[Check]) -> None:
        left = max(1.0, min(_READY_S, trial.deadline - time.monotonic()))
        for compiler in trial.rest or self._compilers(trial.told, checks, left):
            # One that fails leaves it to the candidate.
            with contextlib.suppress(RunnerEndedError, HarnessError):
                compiler.reply(left)
            compiler.close()

    def _look(self) -> None:
        """Note who is prepared, and begin to hear as many as may be heard."""
        for trial in self._trials[:]:
            if not trial.ready:
                _note(trial)
                self._stop_waiting(trial)
        begun = sum(trial.begun for trial in self._trials[:])
        for trial in [one for one in self._trials[:] if one.ready and not one.begun]:
            if begun >= self._most:
                return
            begun += 1
            trial.begun = True
            threading.Thread(target=self._judge, args=(trial,), daemon=True).start()

    def _stop_waiting(self, trial: _Trial) -> None:
        """For a candidate that does not get ready: its import, or the code that compiles it, may
        never end."""
        if time.monotonic() - trial.asked < _READY_S:
            return
        for runner in (trial.candidate, *trial.compilers):
            if runner.alive and (why := runner.patience.exceeded(_READY_S)):
                told = f"did not get ready within {why} and was stopped"
                self._runners.end(runner.key, TIMEOUT, told)

    def _judge(self, trial: _Trial) -> None:
        """Hear a trial and answer it, in a thread of its own."""
        answer = self._hear(trial)
        if trial.cancelled:
            answer = _answer(ERROR, "was cancelled")
        self._runners.tell({"answer": trial.number, **answer})
        for runner in (trial.candidate, *trial.compilers, *trial.rest):
            runner.close()
        self._caches.forget(trial.number)
        self._trials.remove(trial)
        self._bell.send(b"!")

    def _hear(self, trial: _Trial) -> dict[str, Any]:
        start = time.monotonic()
        waits = {"waited_s": start - trial.asked, "ready_s": _readiness(trial)}
        hearing = Hearing(
            self._originals, self._turns, trial.candidate, trial.job, trial.deadline,
            partial(self._compile_rest, trial), self._watching,
        )  # fmt: skip
        try:
            value = hearing.value(trial.prepared, trial.failed)
        except Exception as error:  # noqa: BLE001 - the worker loop's boundary
            if is_of_a_driver(error):
                traceback.print_exc()
                os._exit(1)
            return _not_judged(error)
        return _answer(OK, "", {**value, **waits, "heard_s": time.monotonic() - start})


def _compiled_first(job: TrialJob) -> list[Check]:
    """What is compiled before a candidate is heard: where there is something to time, no more than
    comes before that."""
    timed = [told["check"] for told in job["timing"]["cases"]] if "timing" in job else []
    return [*timed, *(first_checks(job["checks"]) if timed else job["checks"])]


def _compiled_later(job: TrialJob) -> list[Check]:
    """What is compiled meanwhile for after that; in a search only what wins comes so far."""
    if not job.get("timing") or not job.get("thorough", True):
        return []
    first = first_checks(job["checks"])
    return [check for check in job["checks"] if all(check is not one for one in first)]


def _until_compiled(compiler: Handle) -> None:
    """Let go of a compiler when it is done; what it could not compile is compiled when it is
    called."""
    with contextlib.suppress(RunnerEndedError, HarnessError):
        compiler.reply(_READY_S)
    compiler.close()


def _note(trial: _Trial) -> None:
    for compiler in trial.compilers:
        if compiler.alive and (reply := compiler.wire.poll()) is not None:
            trial.compiled.append(reply)
            compiler.close()
    if trial.prepared is None and trial.failed is None:
        _note_candidate(trial)


def _note_candidate(trial: _Trial) -> None:
    handle = trial.candidate
    reply = handle.wire.poll()
    if reply is not None and "failed" not in reply:
        trial.prepared = reply
    elif reply is not None:
        trial.failed = handle.failed(str(reply["failed"]), str(reply.get("message") or ""))
    elif handle.ended is not None:
        trial.failed = handle.failed(*handle.ended)


def _readiness(trial: _Trial) -> list[dict[str, float]]:
    """How far the candidate's process and each of its compilers had got, how long after they were
    asked for; what they say themselves, so a figure for people alone."""
    told = [one.get("reached") for one in (trial.prepared or {}, *trial.compiled)]
    return [
        {
            str(name): round(at - trial.asked, 4)
            for name, at in reached.items()
            if isinstance(at, float)
        }
        for reached in told
        if isinstance(reached, dict)
    ]


def _not_judged(error: Exception) -> dict[str, Any]:
    """What to answer where nothing can be said of the candidate, whatever the reason."""
    if isinstance(error, BrokenOffError | RunnerEndedError):
        return _answer(error.status, str(error))
    if isinstance(error, JobError):
        return _answer(ERROR, str(error))
    if job_process.is_out_of_memory(error):
        return _answer(OUT_OF_MEMORY, f"the coordinator ran out of memory: {error}")
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return _answer(OUT_OF_MEMORY, f"the coordinator has no memory left for tensors: {error}")
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    told = str(error) if isinstance(error, HarnessError) else job_process.describe(error)
    return _answer(FAULT, told, {"traceback": trace[-_TRACEBACK_TAIL:]})


def _answer(status: str, message: str, value: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"status": status, "message": message, "value": value or {}}
