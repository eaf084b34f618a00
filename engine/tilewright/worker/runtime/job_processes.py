"""A fork server's children, one a job: forked, followed to their ends, and answered for."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .. import jobs
from ..protocol import (
    CRASHED,
    ERROR,
    FAULT,
    OK,
    OUT_OF_MEMORY,
    OUTPUT_TAIL,
    TIMEOUT,
    UNSUPPORTED,
)
from ..sandbox import cgroups
from . import gpu_visibility, job_process, process_tree
from .connections import MessageBuffer

if TYPE_CHECKING:
    from ..messages.envelope import Answer, Job
    from ..messages.jobs import CoordinatorJob

_CHUNK = 1 << 16
_READS_A_TURN = 64
_STATUSES = (OK, ERROR, TIMEOUT, CRASHED, OUT_OF_MEMORY, UNSUPPORTED, FAULT)

Deliver = Callable[["Answer"], None]
"""Gets a job's answer: status, message, value, output, seconds."""


@dataclass
class _Running:
    """A job under way; ``message`` is the child's own answer once it has come."""

    deliver: Deliver
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
    message: Answer | None = None
    verdict: tuple[str, str] | None = None


class Children:
    """Jobs under way, by their processes.

    Args:
        selector: the fork server's; what is registered has a handler of the descriptor as data.
        folder: where jobs have their scratch folders.
        drop_requests: called in each child, to remove other clients' requests from its memory.
    """

    def __init__(
        self, selector: selectors.BaseSelector, folder: Path, drop_requests: Callable[[], None]
    ) -> None:
        self._selector = selector
        self._folder = folder
        self._drop_requests = drop_requests
        self._running: dict[int, _Running] = {}

    def __len__(self) -> int:
        return len(self._running)

    @property
    def processes(self) -> set[int]:
        """The first process of each job."""
        return set(self._running)

    def start(
        self,
        job: Job[Any],
        timeout_s: float,
        deliver: Deliver,
        channel: int | None = None,
        environment: dict[str, str] | None = None,
    ) -> int:
        """Start a child for a job, which keeps ``channel`` open; its process. Raises OSError.

        ``environment``: of the client that asked, in the place of the fork server's own.
        """
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
                job_process.take_over(environment)
                _perform(job, result_write, scratch, timeout_s, parent, channel)
            finally:  # whatever went wrong, a child is no fork server
                traceback.print_exc()
                os._exit(1)
        # With a copy of the write ends open here, the pipes would never come to their end.
        os.close(result_write)
        os.close(printed_write)
        now = time.monotonic()
        running = _Running(
            deliver, process, scratch, result_read, printed_read, os.pidfd_open(process),
            now, now + timeout_s, _oom_kills(),
        )  # fmt: skip
        self._follow(running)
        return process

    def stop(self, process: int, status: str, message: str) -> None:
        """Kill a job, and have its answer say so once it has ended: a GPU's driver takes its
        time."""
        job = self._running.get(process)
        if job is not None:
            job.verdict = (status, message)
            process_tree.kill_tree(process)

    def finish(self, process: int, status: str, message: str) -> None:
        """Kill a job, wait for that, and answer so."""
        job = self._running.get(process)
        if job is not None:
            job.verdict = (status, message)
            self._finish(job)

    def stop_what_took_too_long(self) -> None:
        """Finish the jobs whose time is up."""
        now = time.monotonic()
        for job in [job for job in self._running.values() if now >= job.deadline]:
            limit = job.deadline - job.started
            self.finish(job.process, TIMEOUT, f"did not finish within {limit:g} s and was stopped")

    def time_left(self) -> float:
        """Seconds until the first job's time is up."""
        ends = (job.deadline for job in self._running.values())
        return max(0.0, min(ends, default=float("inf")) - time.monotonic())

    def kill_all(self) -> None:
        """Kill every job; no client gets an answer."""
        for process in self._running:
            process_tree.kill_tree(process)

    def _become_child(self, printed: int, kept: set[int | None]) -> None:
        """Close every descriptor of the fork server, of other jobs and of libraries but those
        ``kept``; print into ``printed``."""
        self._selector.close()
        self._running.clear()
        self._drop_requests()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        process_tree.close_all_but({0, 1, 2, *kept})
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)

    def _follow(self, job: _Running) -> None:
        self._running[job.process] = job
        for descriptor in (job.result, job.printed):
            os.set_blocking(descriptor, False)
        for descriptor in (job.result, job.printed, job.pidfd):
            self._selector.register(descriptor, selectors.EVENT_READ, partial(self._read, job))

    def _read(self, job: _Running, descriptor: int) -> None:
        if job.process not in self._running:
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
                forget(self._selector, job.printed)
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
            forget(self._selector, job.result)

    def _finish(self, job: _Running) -> None:
        # The process may have given its result and go on, and its descendants may hold the pipes
        # open: waiting before the kill could take forever.
        process_tree.kill_tree(job.process)
        status = _wait(job.process)
        exhausted = cgroups.out_of_memory(job.process)
        if exhausted is None:
            # Without a control group of its own there is only the system's counter, which also
            # counts other processes; `_verdict` therefore asks for a SIGKILL as well.
            exhausted = _oom_kills() > job.oom_kills
        # Only now is everything in the pipe that the job has printed.
        self._drain_printed(job, _READS_A_TURN)
        for descriptor in (job.result, job.printed, job.pidfd):
            forget(self._selector, descriptor)
            os.close(descriptor)
        # A stray is an adopted process that is no job: this job has to be off the list first.
        del self._running[job.process]
        process_tree.kill_strays(self.processes)
        shutil.rmtree(job.scratch, ignore_errors=True)
        job.deliver(_answer(job, status, exhausted))


def forget(selector: selectors.BaseSelector, descriptor: int) -> None:
    """Listen to a descriptor no longer, if anybody did."""
    with contextlib.suppress(KeyError, ValueError):
        selector.unregister(descriptor)


def _perform(
    job: Job[Any], result: int, scratch: str, timeout_s: float, parent: int, channel: int | None
) -> None:
    """In the child: do the job; never returns."""
    if channel is not None:
        job = {**job, "channel": channel}
    job = gpu_visibility.alone(job)
    if job.get("kind") == "judge":
        from ..trials import coordinator  # a worker that only compiles has no torch

        coordinator.main(cast("CoordinatorJob", job), parent)
    job_process.main(job, result, scratch, timeout_s, parent)


def _answer(job: _Running, status: int, exhausted: bool) -> Answer:
    """What a child that has ended said, or what is to be said of it."""
    answer: Answer = {"value": {}, "message": ""}
    if job.message is not None:
        answer = {**answer, **job.message}
    if job.message is not None and not _is_answer(answer):
        job.verdict = (CRASHED, "gave a result that cannot be read")
    if job.verdict is not None or job.message is None:
        outcome, text = job.verdict or _verdict(status, exhausted)
        answer = {"status": outcome, "message": text, "value": {}}
    output = job.tail.decode("utf-8", "replace")
    return {**answer, "output": output, "seconds": time.monotonic() - job.started}


def _is_answer(answer: Answer) -> bool:
    """Whether what a child wrote is one: code under test can write there as well."""
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
