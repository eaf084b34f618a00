"""The devices of this machine: Triton's interpreter, and each GPU that torch sees."""

from __future__ import annotations

import json
import os
from typing import Any, Protocol

from tilewright.devices.model import DeviceInfo, JobOutcome, JobStatus, Value
from tilewright.home import home
from tilewright.targets.cache import ReportCache, content_key
from tilewright.worker.messages.envelope import Job

ON_DEVICE = {"run", "measure"}
_RECORDED = {"capture", "specialize"}
_MOST_RECORDS = 2048


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
            key = _key(job, self._info)
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


def _key(job: Job[Any], info: DeviceInfo) -> str:
    asked = {name: part for name, part in job.items() if name != "module"}
    variables = {n: v for n, v in os.environ.items() if n.startswith("TRITON_")}
    parts = (asked, variables, (info.torch, info.triton, info.python))
    return content_key(str(job.get("module")), [json.dumps(part, sort_keys=True) for part in parts])
