"""The devices of this machine: Triton's interpreter, and each GPU that torch sees."""

from __future__ import annotations

from typing import Protocol

from tilewright.devices.model import DeviceInfo, JobOutcome, Value
from tilewright.worker.messages.envelope import Job

ON_DEVICE = {"run", "measure"}
_RECORDED = {"capture", "specialize"}


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
            from tilewright.devices.launch_cache import recorded  # targets build on this package

            return recorded(job, self._info, lambda: self._client.run(job, timeout_s))
        return self._client.run(job, timeout_s)

    def cancel(self) -> None:
        """Stop every job of this process that is under way on the worker."""
        self._client.cancel()

    def close(self) -> None:
        """End the worker, or leave it if it is shared; a device that is used again joins anew."""
        self._client.close()
