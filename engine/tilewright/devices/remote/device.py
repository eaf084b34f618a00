"""A device of another host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tilewright.devices.client import ON_DEVICE, JobClient, WorkerDevice
from tilewright.devices.model import DeviceInfo, JobOutcome, Value
from tilewright.worker.messages.envelope import Job


class RemoteDevice(WorkerDevice):
    """Like a device here; jobs name it by its id, which means nothing on its own host.

    Every job runs there, compiling too: by that host's Triton. What compilers of other chips'
    toolchains make of a kernel, they make here.
    """

    def __init__(self, client: JobClient, own_id: str, there: DeviceInfo) -> None:
        super().__init__(client, replace(there, id=own_id))
        self.id_there = there.id

    def run(self, job: Job[Value], timeout_s: float) -> JobOutcome[Value]:
        """Run a job there; those that use a device use this one unless they name another."""
        named: Any = self._named(job)
        if job.get("kind") in ON_DEVICE:
            named = {"device": self.id_there, **named}
        return self.client.run(named, timeout_s)

    def _named(self, value: Any) -> Any:
        """A job with the device's own name in the place of its id."""
        if isinstance(value, Mapping):
            return {name: self._named(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self._named(part) for part in value]
        return self.id_there if value == self.info.id else value
