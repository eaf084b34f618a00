"""Several GPUs of one kind as one device; one that is lost is left out.

The pool itself is its first GPU: what is asked of it runs there, so that a verdict on speed and
the certificate name one GPU. Who has several things to try that do not depend on each other asks
for a share, and gets the GPU with the least to do. That one candidate at a time is timed on a GPU
is the business of its coordinator, or of the lock that a job names.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tilewright.devices.model import Device, DeviceError, DeviceInfo, JobOutcome, JobStatus, Value
from tilewright.worker.messages.envelope import Job

# What a driver says of a GPU that is gone, and not of a kernel that went wrong on it.
_GONE = (
    "no cuda-capable device", "gpu is lost", "fallen off the bus", "uncorrectable ecc",
    "cuda-capable device(s) is/are busy or unavailable", "driver shutting down",
    "no hip gpus are available", "no xpu devices are available", "ur_result_error_device_lost",
)  # fmt: skip
_LOG = logging.getLogger(__name__)


class DevicePool:
    """Devices of the same kind; raises DeviceError where they differ or one is named twice."""

    def __init__(self, members: Sequence[Device]) -> None:
        first = members[0].info
        for other in (member.info for member in members[1:]):
            if (other.target, other.name) != (first.target, first.name):
                raise DeviceError(
                    f"{first.id} is {first.name} ({first.target}) and {other.id} is {other.name} "
                    f"({other.target}): their times cannot be compared; name GPUs of one kind"
                )
        ids = [member.info.id for member in members]
        if len(set(ids)) < len(ids):
            raise DeviceError(f"a GPU is named twice: {', '.join(ids)}")
        self._ids = frozenset(ids)
        self._members = list(members)
        self._all = tuple(members)
        self._shares: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def info(self) -> DeviceInfo:
        """The first GPU's, as long as it is there."""
        return self._members[0].info

    @property
    def members(self) -> tuple[Device, ...]:
        """Those that are still there."""
        return tuple(self._members)

    def run(self, job: Job[Value], timeout_s: float) -> JobOutcome[Value]:
        """Run a job on the first GPU; where that is lost, once more on the next."""
        return self.run_on(self._members[0], job, timeout_s)

    def run_on(self, member: Device, job: Job[Value], timeout_s: float) -> JobOutcome[Value]:
        """Run a job on a member; where that is lost, once more on another.

        If it is not lost there, the fault was not the job's: the member is left out from then on.
        """
        outcome = member.run(self._named(job, member), timeout_s)
        other = next((one for one in self._members if one is not member), None)
        if not is_lost(outcome) or other is None:
            return outcome
        second = other.run(self._named(job, other), timeout_s)
        if not is_lost(second):
            self._leave_out(member, outcome.message)
        return second

    @contextmanager
    def shared(self) -> Iterator[Device]:
        """The GPU that the fewest others have a share in."""
        with self._lock:
            member = min(self._members, key=lambda one: self._shares[one.info.id])
            self._shares[member.info.id] += 1
        try:
            yield _Share(self, member)
        finally:
            with self._lock:
                self._shares[member.info.id] -= 1

    def close(self) -> None:
        """End the workers of all, those left out too."""
        for member in self._all:
            member.close()

    def _leave_out(self, member: Device, why: str) -> None:
        with self._lock:
            if member in self._members and len(self._members) > 1:
                self._members.remove(member)
                _LOG.warning("%s is left out from here on: %s", member.info.id, why)

    def _named(self, value: Any, member: Device) -> Any:
        """A job that names this member wherever it named one of the pool."""
        if isinstance(value, Mapping):
            return {name: self._named(part, member) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self._named(part, member) for part in value]
        return member.info.id if isinstance(value, str) and value in self._ids else value


class _Share:
    """One GPU of a pool, as a device of its own."""

    def __init__(self, pool: DevicePool, member: Device) -> None:
        self._pool = pool
        self._member = member

    @property
    def info(self) -> DeviceInfo:
        return self._member.info

    def run(self, job: Job[Value], timeout_s: float) -> JobOutcome[Value]:
        """Run a job on it; on another where it is lost."""
        return self._pool.run_on(self._member, job, timeout_s)

    def close(self) -> None:
        """The pool closes it."""


@contextmanager
def share_of(device: Device) -> Iterator[Device]:
    """The GPU of a pool with the least to do; any other device as it is."""
    if isinstance(device, DevicePool):
        with device.shared() as member:
            yield member
    else:
        yield device


def width(device: Device) -> int:
    """How many candidates can be timed at a time."""
    return len(device.members) if isinstance(device, DevicePool) else 1


def is_lost(outcome: JobOutcome[Any]) -> bool:
    """Whether a job ended because its worker or its GPU is gone."""
    if outcome.status is JobStatus.LOST:
        return True
    message = outcome.message.lower()
    return outcome.status is not JobStatus.OK and any(words in message for words in _GONE)
