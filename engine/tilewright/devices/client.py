"""The engine's side of a worker: run jobs from many threads, survive the worker's end.

``WorkerDevice`` is a device as the rest of the engine sees it, ``WorkerClient`` the worker behind
the devices of one interpreter here.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import threading
import time
from types import TracebackType
from typing import Any, Protocol

from tilewright.devices.local_process import Channel, KilledError
from tilewright.devices.model import DeviceError, DeviceInfo, JobOutcome, JobStatus, Value
from tilewright.devices.rpc import Pending, WorkerChannel
from tilewright.devices.service.connection import connect
from tilewright.devices.service.places import ServiceError
from tilewright.errors import TilewrightError
from tilewright.home import home
from tilewright.targets.cache import ReportCache, content_key
from tilewright.worker.messages.envelope import Answer, Hello, Job
from tilewright.worker.protocol import COMPILE_ONLY
from tilewright.worker.sandbox.triton_cache import EMPTY, LAUNCHERS, LINKED

ON_DEVICE = {"run", "measure"}
_RECORDED = {"capture", "specialize"}
_MOST_RECORDS = 2048
_GRACE_SECONDS = 20.0
_QUEUE_SECONDS = 1800.0
_LOOK_SECONDS = 30.0
_LOG = logging.getLogger(__name__)
_CACHES = {"run": LINKED, "measure": LAUNCHERS, "profile": LINKED, "counters": LINKED}


class JobClient(Protocol):
    """The way to a worker: of this host, of another one, or of an actor in a cluster."""

    def run(self, job: Job[Value], timeout_s: float) -> JobOutcome[Value]: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


class WorkerDevice:
    """A device behind a local worker; several of one interpreter share the worker."""

    def __init__(self, client: JobClient, info: DeviceInfo) -> None:
        self._client = client
        self._info = info

    @property
    def info(self) -> DeviceInfo:
        return self._info

    @property
    def client(self) -> JobClient:
        return self._client

    def run(self, job: Job[Value], timeout_s: float) -> JobOutcome[Value]:
        """Run a job; those that use a device use this one unless they name another."""
        if job.get("kind") in ON_DEVICE:
            job = {"device": self._info.id, **job}
        if job.get("kind") in _RECORDED:
            return self._recorded(job, timeout_s)
        return self._client.run(job, timeout_s)

    def _recorded(self, job: Job[Value], timeout_s: float) -> JobOutcome[Value]:
        """The outcome of a job that finds launches, kept on disk; what failed is tried again.

        The same text makes the same launches again: host code that reads anything but what it
        imports, its inputs and Triton's variables is taken to find it as it was.
        """
        try:
            key = _record_key(job, self._info)
        except OSError:  # the worker says what is wrong with the file
            return self._client.run(job, timeout_s)
        cache = ReportCache(home() / "launches", _MOST_RECORDS)
        found = cache.get(key)
        if found is not None:
            return JobOutcome(JobStatus.OK, found["value"], output=found["output"])
        outcome = self._client.run(job, timeout_s)
        if outcome.status is JobStatus.OK:
            value: Any = outcome.value
            kept = {"value": value, "output": outcome.output, "depends": value.get("depends")}
            cache.put(key, kept)
        return outcome

    def cancel(self) -> None:
        """Stop every job of this process that is under way on the worker."""
        self._client.cancel()

    def close(self) -> None:
        """End the worker, or leave it if it is shared; a device that is used again joins anew."""
        self._client.close()


def _record_key(job: Job[Any], info: DeviceInfo) -> str:
    asked = {name: part for name, part in job.items() if name != "module"}
    variables = {n: v for n, v in os.environ.items() if n.startswith("TRITON_")}
    parts = (asked, variables, (info.torch, info.triton, info.python))
    return content_key(str(job.get("module")), [json.dumps(part, sort_keys=True) for part in parts])


class WorkerClient:
    """A worker in one interpreter, started on first use and started again once if it dies.

    Args:
        python: the interpreter, which needs torch and triton.
        compile_only: serve compile jobs alone, for which triton is enough.
        shared: use the interpreter's worker service. Where there is none to be had, a warning is
            logged and a worker of this process is started as without it.
    """

    def __init__(self, python: str, *, compile_only: bool = False, shared: bool = False) -> None:
        self.python = python
        self._compile_only = compile_only
        self._shared = shared
        self._starting = threading.Lock()  # held for seconds, so close() does not take it
        self._lock = threading.Lock()
        self._channel: WorkerChannel | None = None
        self._closed = False
        atexit.register(self.close)

    def __enter__(self) -> WorkerClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def hello(self) -> Hello:
        """Versions of what runs there; starts the worker. Raises DeviceError if it cannot."""
        return self._live().hello

    def start(self) -> None:
        """Start the worker in the background: importing torch takes seconds, in which whoever
        will need it has other things to do. What fails is raised when it is needed."""

        def started() -> None:
            with contextlib.suppress(TilewrightError, OSError):
                self._live()

        threading.Thread(target=started, daemon=True).start()

    @property
    def pid(self) -> int | None:
        """The worker's process id, None if it is not running."""
        channel = self._channel
        return channel.pid if channel is not None and channel.alive else None

    def run(self, job: Job[Value], timeout_s: float) -> JobOutcome[Value]:
        """Run one job and wait. A worker that dies is started again and the job tried once more.

        Raises DeviceError where there is no worker to begin with.
        """
        start = time.monotonic()
        message = "the worker ended during the job"
        for attempt in range(2):
            try:
                channel = self._live()
            except DeviceError as error:
                if attempt == 0:
                    raise
                message = f"{message}, and could not be started again: {error}"
                break
            pending = channel.send(with_own_cache(job), timeout_s)
            if not _begun(channel, pending):
                message = self._leave(channel)
                continue
            if not pending.done.wait(timeout_s + _GRACE_SECONDS):
                return self._unanswered(job, time.monotonic() - start)
            if pending.answer is not None:
                return outcome_of(pending.answer)
            if self._closed:
                break
            message = self._fate(channel)
        return _lost_outcome(message, time.monotonic() - start)

    def _fate(self, channel: WorkerChannel) -> str:
        """What became of a worker that ended before it answered."""
        del channel
        return "the worker ended during the job"

    def cancel(self) -> None:
        """Stop every job under way."""
        channel = self._channel
        if channel is not None:
            channel.cancel_all()

    def close(self) -> None:
        """End the worker and all it started. Jobs under way come back as lost.

        A worker that is being started is ended by the thread that starts it, or at exit.
        """
        with self._lock:
            self._closed = True
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        atexit.unregister(self.close)

    def _live(self) -> WorkerChannel:
        with self._starting:
            with self._lock:
                if self._channel is not None and self._channel.alive:
                    return self._channel
                self._closed = False
            channel = self._opened()
            with self._lock:
                if not self._closed:
                    self._channel = channel
                    return channel
        channel.close()
        raise DeviceError(f"the worker of {self.python} was closed while it started")

    def _opened(self) -> WorkerChannel:
        if self._shared:
            try:
                return connect(self.python, compile_only=self._compile_only)
            except ServiceError as error:
                self._shared = False
                _LOG.warning("a worker is started without the worker service: %s", error)
        arguments = (COMPILE_ONLY,) if self._compile_only else ()
        try:
            return Channel(self.python, arguments)
        except KilledError as error:
            if self._closed:
                raise
            _LOG.warning("%s; it is started once more", error)
            return Channel(self.python, arguments)

    def _leave(self, channel: WorkerChannel) -> str:
        """Do without a service that is there and says nothing; what to tell of it."""
        with self._lock:
            self._shared = False
            if self._channel is channel:
                self._channel = None
        channel.close()
        message = "the worker service does not answer; `tilewright service stop` ends it"
        _LOG.warning("%s; a worker is started without it", message)
        return message

    def _unanswered(self, job: Job[Any], seconds: float) -> JobOutcome[Any]:
        """The worker is there but silent long after the limit: it is of no more use."""
        with self._lock:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        message = f"the worker did not answer a {job.get('kind')} job and was ended"
        return _lost_outcome(message, seconds)


def _begun(channel: WorkerChannel, pending: Pending) -> bool:
    """Wait for a job's turn; False if the worker no longer answers, or its turn never comes."""
    end = time.monotonic() + _QUEUE_SECONDS
    while not pending.started.wait(_LOOK_SECONDS):
        if time.monotonic() > end or not channel.answers():
            return False
    return True


def _lost_outcome(message: str, seconds: float) -> JobOutcome[Any]:
    return JobOutcome(JobStatus.LOST, {}, message, seconds=seconds)


def outcome_of(answer: Answer) -> JobOutcome[Any]:
    """What a worker answered."""
    return JobOutcome(
        JobStatus(answer["status"]),
        answer.get("value") or {},
        answer.get("message") or "",
        answer.get("output") or "",
        float(answer.get("seconds") or 0.0),
    )


def with_own_cache(job: Job[Value]) -> Job[Value]:
    """The job, and a cache of its own where it names none.

    What launches on a device finds there what others have compiled; a quick look, whose kernel is
    new, what launches it; what uses no device starts empty: linking thousands of files takes time.
    """
    if "cache" in job or job.get("kind") == "trial":
        return job
    on_device = job.get("device", "interpreter") != "interpreter"
    return {**job, "cache": _CACHES.get(str(job.get("kind")), EMPTY) if on_device else EMPTY}
