"""Which jobs there are and were, one at a time in the engine, each owned by a task."""

import asyncio
import contextlib
import logging
import time
import uuid
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any

from tilewright_server.jobs.process import EngineRun
from tilewright_server.models import ModelUse
from tilewright_server.requests import Timings, guard_async

logger = logging.getLogger(__name__)
_REMEMBERED = 20
CANCEL_GRACE_S = 3.0
# A profile that gives way runs again later: nothing of it is worth waiting for.
_GIVE_WAY_S = 0.2


class JobKind(StrEnum):
    OPTIMIZE = "optimize"
    PROFILE = "profile"
    COMPILE = "compile"
    VERIFY = "verify"
    CAPTURE = "capture"


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    STOPPING = "stopping"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        return self in (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


@dataclass
class Job:
    """One piece of long work. Changed only on the event loop.

    ``quiet`` jobs started by themselves: they end without a message, and give way to a job a
    person asked for (``gave_way``). ``text_hash`` says on which text it works; ``result`` is the
    engine's, for the client; ``targets`` are those of a job that is for several;
    ``certificate`` is the file that is repeated, or ``renews``, made anew for another text.
    ``models`` are those that an optimization may use. ``position``: how many jobs go before it,
    None where it does not wait. ``suspended``: the server ends, and the job can be taken up again.
    ``original``: a file with the text before the edit to verify. ``arguments``: of the engine's
    command line, of a job that is given them whole.
    """

    kind: JobKind
    uri: str
    target: str | None
    kernel: str | None = None
    position: int | None = None
    suspended: bool = False
    original: str | None = None
    arguments: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    state: JobState = JobState.QUEUED
    percent: int | None = None
    message: str = ""
    quiet: bool = False
    gave_way: bool = False
    text_hash: str = ""
    targets: tuple[str, ...] = ()
    certificate: str | None = None
    renews: bool = False
    models: ModelUse | None = None
    result: Mapping[str, Any] | None = None
    started: float = field(default_factory=time.time)
    run: EngineRun | None = None
    task: "asyncio.Task[None] | None" = None

    def settle(self, state: JobState, message: str) -> None:
        """End a job that is not over yet."""
        if not self.state.is_over:
            self.state, self.message = state, message

    def to_json(self) -> dict[str, Any]:
        """What ``tilewright.listJobs`` shows."""
        return {
            "job": self.id,
            "kind": str(self.kind),
            "uri": self.uri,
            "target": self.target,
            "state": str(self.state),
            "percent": self.percent,
            "message": self.message,
            "position": self.position,
            "seconds": round(time.time() - self.started, 1),
            "pid": self.run.pid if self.run else None,
        }


class JobManager:
    """Starts, lists and stops jobs; ``lane`` lets one engine run at a time.

    Args:
        timings: get how long each job took.
        ended: is called with each job that is over, whichever way it ended.
    """

    def __init__(self, timings: Timings, ended: Callable[[Job], None]) -> None:
        self._timings = timings
        self._ended = ended
        self._jobs: dict[str, Job] = {}
        self.lane = Lane()

    def start(self, job: Job, work: Callable[[Job], Awaitable[None]]) -> Job:
        """Run ``work`` for a job in a task of its own; returns at once."""
        self._jobs[job.id] = job
        guarded = guard_async(f"job.{job.kind}", work, self._timings)(job)
        job.task = asyncio.get_running_loop().create_task(guarded)
        job.task.add_done_callback(partial(self._end, job))
        return job

    def _end(self, job: Job, task: "asyncio.Task[None]") -> None:
        if task.cancelled():
            job.settle(JobState.CANCELLED, "cancelled before it began; nothing was changed")
        job.settle(JobState.FAILED, "failed; the server's log has the reason")
        self._ended(job)
        self._forget_old()

    def _forget_old(self) -> None:
        over = [job.id for job in self._jobs.values() if job.state.is_over]
        for old in over[:-_REMEMBERED]:
            del self._jobs[old]

    def all(self) -> tuple[Job, ...]:
        """Every job that is not forgotten, oldest first."""
        return tuple(self._jobs.values())

    def active(self, kind: JobKind, uri: str) -> tuple[Job, ...]:
        """The jobs of a kind on a document that are not over."""
        return tuple(
            job
            for job in self._jobs.values()
            if job.kind is kind and job.uri == uri and not job.state.is_over
        )

    def cancel(self, job_id: str, grace_s: float = CANCEL_GRACE_S) -> bool:
        """Stop a job: softly if its engine runs, else at once. False: no such job."""
        job = self._jobs.get(job_id)
        if job is None or job.state.is_over:
            return False
        job.state = JobState.STOPPING
        if job.run is None or job.run.is_over:
            if job.task is not None:
                job.task.cancel()
        else:
            job.run.stop(grace_s, ask=not job.suspended)
        return True

    def make_way(self) -> None:
        """Interrupt the background job that holds the lane; it waits for its turn again."""
        for job in self._jobs.values():
            if job.quiet and job.state is JobState.RUNNING and job.run is not None:
                job.gave_way = True
                job.run.stop(_GIVE_WAY_S)

    async def stop_all(self, grace_s: float) -> None:
        """Stop every job and wait until none is left; optimizations can be resumed."""
        tasks = [job.task for job in self._jobs.values() if job.task and not job.task.done()]
        for job in self.all():
            job.suspended = job.kind is JobKind.OPTIMIZE
            self.cancel(job.id, grace_s)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace_s + 0.5)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


class Lane:
    """One engine run at a time: two would disturb each other's measurements.

    Urgent waiters go before others; among equals the first come is the first served.
    """

    def __init__(self) -> None:
        self._busy = False
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()
        self._owners: dict[asyncio.Future[None], str] = {}
        self.holder: str | None = None

    @property
    def busy(self) -> bool:
        """Whether a new job has to wait."""
        return self._busy

    def position(self, owner: str) -> int | None:
        """How many go before a waiting owner, the one that runs included; None: it waits not."""
        waiting = [place for place in (*self._urgent, *self._others) if not place.done()]
        owners = [self._owners.get(place) for place in waiting]
        return owners.index(owner) + 1 if owner in owners else None

    @contextlib.asynccontextmanager
    async def turn(self, urgent: bool, owner: str = "") -> AsyncIterator[None]:
        """Wait for a turn and hold it; ``owner`` is the job's identity, for showing the queue."""
        await self._enter(urgent, owner)
        while self._urgent and not urgent:
            self._hand_on()
            await self._enter(urgent, owner)
        self.holder = owner
        try:
            yield
        finally:
            self.holder = None
            self._hand_on()

    async def _enter(self, urgent: bool, owner: str) -> None:
        if not self._busy:
            self._busy = True
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owners[place] = owner
        (self._urgent if urgent else self._others).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._hand_on()
            raise
        finally:
            del self._owners[place]

    def _hand_on(self) -> None:
        """Give the turn to the next who still waits."""
        for queue in (self._urgent, self._others):
            while queue:
                place = queue.popleft()
                if not place.done():
                    place.set_result(None)
                    return
        self._busy = False
