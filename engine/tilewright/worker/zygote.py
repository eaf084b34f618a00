"""The long-lived process that has imported torch and triton, and forks one child for each job."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import selectors
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from . import cgroups, child, confine, jobs, processes, visible
from .peers import Peer
from .protocol import (
    CRASHED,
    ERROR,
    FOLDER_PREFIX,
    LOST,
    MARKER,
    OK,
    OUT_OF_MEMORY,
    OUTPUT_TAIL,
    TIMEOUT,
    MessageBuffer,
)
from .trials.judges import Deliver, Judges, remove_shared_folders
from .trials.wire import Line

_CHUNK = 1 << 16
_TICK_S = 1.0
_SWEEP_S = 0.5
_READS_A_TURN = 64
_STATUSES = (OK, ERROR, TIMEOUT, CRASHED, OUT_OF_MEMORY)


@dataclass
class _Running:
    """A job under way; ``message`` is the child's own answer once it has come.

    ``peer`` and ``request``: who asked, where it was not a judge.
    """

    deliver: Deliver
    peer: Peer | None
    request: int
    process: int
    scratch: str
    result: int
    printed: int
    pidfd: int
    started: float
    deadline: float
    oom_kills: int
    buffer: MessageBuffer = field(default_factory=MessageBuffer)
    tail: bytearray = field(default_factory=bytearray)
    message: dict[str, Any] | None = None
    verdict: tuple[str, str] | None = None


class Zygote:
    """Serves requests until its input ends or its parent is gone.

    Args:
        folder: where jobs have their scratch folders; removed in the end.
        limit: how many jobs may run at a time; the others wait. None: all that come.
    """

    def __init__(
        self, peers: tuple[Peer, ...], folder: Path | None = None, limit: int | None = None
    ) -> None:
        self._limit = limit
        self._selector = selectors.DefaultSelector()
        self._peers: list[Peer] = []
        self._waiting: list[tuple[Peer, dict[str, Any]]] = []
        self._jobs: dict[int, _Running] = {}
        self._trials: dict[int, tuple[Peer, int]] = {}
        self._judges = Judges(self._fork, self._stop_child, self._add_line, self._put)
        self._parent = os.getppid()
        self._next_sweep = 0.0
        self._folder = folder or _own_folder()
        for peer in peers:
            self._add(peer)

    def serve(self) -> None:
        """Loop until nobody wants more, then kill everything that was started."""
        processes.become_subreaper()
        confine.hide_from_ptrace()
        gc.collect()
        gc.freeze()
        try:
            while self._wanted():
                self._turn()
        finally:
            self._shut_down()

    def _wanted(self) -> bool:
        """Whether there is anybody to serve."""
        return bool(self._peers) and os.getppid() == self._parent

    def _turn(self) -> None:
        for key, _ in self._selector.select(self._patience()):
            handler: Callable[[int], None] = key.data
            handler(key.fd)
        self._stop_what_took_too_long()
        self._start_what_waits()
        self._drop_who_is_gone()
        now = time.monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + _SWEEP_S
            if processes.kill_strays({job.process for job in self._jobs.values()}):
                processes.reap()

    def _patience(self) -> float:
        now = time.monotonic()
        return max(0.0, min([self._tick(), *(job.deadline - now for job in self._jobs.values())]))

    def _tick(self) -> float:
        """The longest time to sleep."""
        return _TICK_S

    def _stop_what_took_too_long(self) -> None:
        now = time.monotonic()
        for job in [job for job in self._jobs.values() if now >= job.deadline]:
            limit = job.deadline - job.started
            job.verdict = (TIMEOUT, f"did not finish within {limit:g} s and was stopped")
            self._finish(job)

    def _add(self, peer: Peer) -> None:
        self._peers.append(peer)
        read = partial(self._read_requests, peer)
        self._selector.register(peer.requests, selectors.EVENT_READ, read)

    def _read_requests(self, peer: Peer, descriptor: int) -> None:
        del descriptor
        for request in peer.receive():
            self._take(peer, request)

    def _take(self, peer: Peer, request: dict[str, Any]) -> None:
        """Do what a message asks."""
        if "cancel" in request:
            self._cancel(peer, request["cancel"])
        else:
            self._waiting.append((peer, request))

    def _put(self, peer: Peer, message: dict[str, Any]) -> None:
        """Answer; what cannot be written at once is written when it can."""
        peer.put(message)
        if peer.unsent and peer.answers not in self._selector.get_map():
            self._selector.register(
                peer.answers, selectors.EVENT_WRITE, partial(self._write_more, peer)
            )

    def _write_more(self, peer: Peer, descriptor: int) -> None:
        peer.flush()
        if not peer.unsent:
            self._forget(descriptor)

    def _drop_who_is_gone(self) -> None:
        for peer in [peer for peer in self._peers if peer.gone]:
            self._peers.remove(peer)
            for descriptor in (peer.requests, peer.answers):
                self._forget(descriptor)
            self._waiting = [one for one in self._waiting if one[0] is not peer]
            for job in [job for job in self._jobs.values() if job.peer is peer]:
                self._finish(job)
            for trial in [number for number, (asked, _) in self._trials.items() if asked is peer]:
                self._judges.cancel(trial)
            peer.close()

    def _cancel(self, peer: Peer, request: int) -> None:
        for one in [one for one in self._waiting if one[0] is peer and one[1]["id"] == request]:
            self._waiting.remove(one)
            self._put(peer, _answer(request, ERROR, "was cancelled"))
        for job in [job for job in self._jobs.values() if job.peer is peer]:
            if job.request == request:
                job.verdict = (ERROR, "was cancelled")
                self._finish(job)
        for trial, asked in self._trials.items():
            if asked == (peer, request):
                self._judges.cancel(trial)

    def _start_what_waits(self) -> None:
        """Start jobs as far as the limit allows, those of the peer with the fewest first."""
        while self._waiting and (self._limit is None or len(self._jobs) < self._limit):
            running = Counter(id(job.peer) for job in self._jobs.values() if job.peer)
            one = min(self._waiting, key=lambda waiting: running[id(waiting[0])])
            self._waiting.remove(one)
            peer, request = one
            if peer.gone:
                continue
            if self._limit is not None:
                self._put(peer, {"id": request["id"], "started": True})
            try:
                self._start(peer, request)
            except OSError as error:
                text = f"no process could be started for it: {error.strerror or error}"
                self._put(peer, _answer(request["id"], LOST, text))

    def _start(self, peer: Peer, request: dict[str, Any]) -> None:
        job, number = request["job"], int(request["id"])
        timeout_s = float(request.get("timeout_s") or 60.0)
        if job.get("kind") == "trial":
            self._try(peer, number, job, timeout_s)
            return

        def deliver(answer: dict[str, Any]) -> None:
            self._put(peer, {**answer, "id": number})

        environment = request.get("environment")
        self._fork(job, timeout_s, deliver, peer=peer, request=number, environment=environment)

    def _try(self, peer: Peer, request: int, job: dict[str, Any], timeout_s: float) -> None:
        jobs.warm_up_for(job)
        start = time.monotonic()

        def deliver(answer: dict[str, Any]) -> None:
            self._trials.pop(trial, None)
            told = {name: answer.get(name) for name in ("status", "message", "value")}
            seconds = time.monotonic() - start
            self._put(peer, {**_answer(request, ERROR, ""), **told, "seconds": seconds})

        trial = self._judges.take(job, timeout_s, deliver)
        self._trials[trial] = (peer, request)

    def _fork(
        self,
        job: dict[str, Any],
        timeout_s: float,
        deliver: Deliver,
        channel: int | None = None,
        *,
        peer: Peer | None = None,
        request: int = -1,
        environment: dict[str, str] | None = None,
    ) -> int:
        """Start a child for a job; ``deliver`` gets the answer. Raises OSError."""
        jobs.warm_up_for(job)
        scratch = tempfile.mkdtemp(dir=self._folder)
        result_read, result_write = os.pipe()
        printed_read, printed_write = os.pipe()
        parent = os.getpid()
        try:
            process = os.fork()
        except OSError:
            for descriptor in (result_read, result_write, printed_read, printed_write):
                os.close(descriptor)
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        if process == 0:
            try:
                self._become_child(printed_write, {result_write, channel})
                self._perform(job, result_write, scratch, timeout_s, parent, channel, environment)
            finally:  # whatever went wrong, a child is no zygote
                traceback.print_exc()
                os._exit(1)
        os.close(result_write)
        os.close(printed_write)
        now = time.monotonic()
        running = _Running(
            deliver, peer, request, process, scratch, result_read, printed_read,
            os.pidfd_open(process), now, now + timeout_s, _oom_kills(),
        )  # fmt: skip
        self._jobs[process] = running
        for descriptor in (result_read, printed_read):
            os.set_blocking(descriptor, False)
        for descriptor in (result_read, printed_read, running.pidfd):
            read = partial(self._read_job, running)
            self._selector.register(descriptor, selectors.EVENT_READ, read)
        return process

    def _stop_child(self, process: int, status: str, message: str) -> None:
        """End a child, and have its answer say so, once it has ended: a GPU's driver takes its
        time."""
        job = self._jobs.get(process)
        if job is not None:
            job.verdict = (status, message)
            processes.kill_tree(process)

    def _add_line(self, line: Line) -> None:
        def read(descriptor: int) -> None:
            del descriptor
            self._judges.read(line)
            if line.gone:
                for end in (line.requests, line.answers):
                    self._forget(end)
                line.close()

        self._selector.register(line.requests, selectors.EVENT_READ, read)

    @staticmethod
    def _perform(
        job: dict[str, Any], result: int, scratch: str, timeout_s: float, parent: int,
        channel: int | None, environment: dict[str, str] | None,
    ) -> None:  # fmt: skip
        """In the child: do the job; never returns."""
        if channel is not None:
            job = {**job, "channel": channel}
        job = visible.alone(job)
        if job["kind"] == "judge":
            from .trials import judge  # a worker that only compiles has no torch

            judge.main(job, parent)
        child.main(job, result, scratch, timeout_s, parent, environment)

    def _become_child(self, printed: int, kept: set[int | None]) -> None:
        """Leave every channel of the zygote, of other jobs and of libraries but those ``kept``;
        print into ``printed``."""
        self._selector.close()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        processes.close_all_but({0, 1, 2, *kept})
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)

    def _read_job(self, job: _Running, descriptor: int) -> None:
        if job.process not in self._jobs:
            return
        if descriptor == job.printed:
            self._drain_printed(job, _READS_A_TURN)
        elif descriptor == job.result:
            self._drain_result(job)
            if job.message is not None or job.verdict is not None:
                self._finish(job)
        else:
            self._drain_result(job)
            self._finish(job)

    def _drain_printed(self, job: _Running, limit: int) -> None:
        for _ in range(limit):
            data = _read(job.printed)
            if data is None:
                return
            if not data:
                self._forget(job.printed)
                return
            job.tail += data[-OUTPUT_TAIL:]
            del job.tail[:-OUTPUT_TAIL]

    def _drain_result(self, job: _Running) -> None:
        while data := _read(job.result):
            try:
                messages = job.buffer.feed(data)
            except ValueError as error:
                job.verdict = (CRASHED, f"gave a result that cannot be read: {error}")
                return
            if messages and job.message is None:
                job.message = messages[0]
        if data == b"":
            self._forget(job.result)

    def _finish(self, job: _Running) -> None:
        processes.kill_tree(job.process)
        status = _wait(job.process)
        exhausted = cgroups.out_of_memory(job.process)
        if exhausted is None:
            exhausted = _oom_kills() > job.oom_kills
        self._drain_printed(job, _READS_A_TURN)
        for descriptor in (job.result, job.printed, job.pidfd):
            self._forget(descriptor)
            os.close(descriptor)
        del self._jobs[job.process]
        processes.kill_strays({other.process for other in self._jobs.values()})
        shutil.rmtree(job.scratch, ignore_errors=True)
        answer = {"value": {}, "message": "", **(job.message or {})}
        if job.message is not None and not _readable(answer):
            job.verdict = (CRASHED, "gave a result that cannot be read")
        if job.verdict is not None or job.message is None:
            outcome, text = job.verdict or _verdict(status, exhausted)
            answer = {"status": outcome, "message": text, "value": {}}
        answer["output"] = job.tail.decode("utf-8", "replace")
        answer["seconds"] = time.monotonic() - job.started
        job.deliver(answer)

    def _forget(self, descriptor: int) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(descriptor)

    def _shut_down(self) -> None:
        for job in self._jobs.values():
            processes.kill_tree(job.process)
        processes.kill_all()
        shutil.rmtree(self._folder, ignore_errors=True)
        remove_shared_folders(os.environ.get(MARKER) or str(os.getpid()))


def _own_folder() -> Path:
    """Where this worker's jobs have their scratch; the engine removes it should the worker be
    killed."""
    folder = Path(tempfile.gettempdir(), f"{FOLDER_PREFIX}{os.environ.get(MARKER) or os.getpid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _answer(request: int, status: str, message: str) -> dict[str, Any]:
    """The answer to a request that had no process."""
    return {
        "id": request, "status": status, "message": message, "value": {}, "output": "",
        "seconds": 0.0,
    }  # fmt: skip


def _readable(answer: dict[str, Any]) -> bool:
    """Whether what a child wrote is an answer: code under test can write there as well."""
    known = answer.get("status") in _STATUSES
    return known and isinstance(answer["value"], dict) and isinstance(answer["message"], str)


def _read(descriptor: int) -> bytes | None:
    """What there is to read; b"" at the end, None when there is nothing yet."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


def _wait(process: int) -> int:
    try:
        return os.waitpid(process, 0)[1]
    except ChildProcessError:
        return 0


def _verdict(status: int, oom_killed: bool) -> tuple[str, str]:
    """How a child ended that gave no result."""
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL and oom_killed:
        return OUT_OF_MEMORY, "was killed by the system for using too much memory"
    if code == -signal.SIGXCPU:
        return TIMEOUT, "used more CPU time than its limit and was stopped"
    if code < 0:
        return CRASHED, f"was ended by {signal.Signals(-code).name}"
    return CRASHED, f"ended without giving a result (exit code {code})"


def _oom_kills() -> int:
    """How many processes the kernel has killed for memory since it started."""
    try:
        with Path("/proc/vmstat").open(encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    except (OSError, StopIteration):
        return 0


def private_channels() -> tuple[int, int]:
    """(requests, answers): private copies of stdin and stdout, which then lead nowhere."""
    requests = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    answers = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return requests, answers
