"""What is timed: one version of the code over rotating copies of the inputs; and the blocks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import torch

from . import tensors
from .clocks import Clock, HostClock

SHORT_US = 20.0
_TARGET_US = 60.0
_MAX_REPEATS = 50
_MAX_SETS = 4
_MEMORY_SHARE = 0.3
_BLOCK_ROUNDS = 2


class InputPool:
    """Several copies of the inputs, so that no call finds the last call's data in a cache."""

    def __init__(self, pristine: dict[str, Any], free_bytes: int) -> None:
        self._pristine = pristine
        size = sum(
            value.untyped_storage().nbytes()
            for value in pristine.values()
            if isinstance(value, torch.Tensor)
        )
        count = int(free_bytes * _MEMORY_SHARE / max(size, 1))
        self.sets = [self._copy() for _ in range(max(2, min(_MAX_SETS, count)))]
        self._turn = 0

    def next(self) -> list[Any]:
        """The next set of arguments, in order."""
        self._turn = (self._turn + 1) % len(self.sets)
        return self.sets[self._turn]

    def restore(self) -> None:
        """Undo what an in-place function did to the copies."""
        for copies in self.sets:
            for copy, original in zip(copies, self._pristine.values(), strict=True):
                if isinstance(copy, torch.Tensor):
                    copy.copy_(original)

    def _copy(self) -> list[Any]:
        return [
            tensors.copy_of(value) if isinstance(value, torch.Tensor) else value
            for value in self._pristine.values()
        ]


class Version:
    """A callable with the inputs it is fed; keeps what it returned last."""

    def __init__(self, function: Any, pool: InputPool) -> None:
        self._function = function
        self.pool = pool
        self.returned: Any = None

    def __call__(self) -> None:
        self.returned = self._function(*self.pool.next())

    def twin(self) -> Version:
        """The same again: what it is timed against to see how much is noise."""
        return Version(self._function, self.pool)

    def call_on(self, arguments: Sequence[Any]) -> Any:
        """Call with these arguments instead of the pool's."""
        return self._function(*arguments)


class Pace:
    """How a version is timed: how often in a row, and how long the host takes to hand it over."""

    def __init__(self, clock: Clock | HostClock, version: Version) -> None:
        host = []
        for _ in range(5):
            clock.synchronize()
            start = time.perf_counter()
            version()
            host.append(time.perf_counter() - start)
        clock.synchronize()
        self.host_s = statistics.median(host)
        rough = statistics.median(clock.times_us([version] * 5, 1, self.host_s))
        self.repeats = 1
        if rough < SHORT_US:
            self.repeats = min(_MAX_REPEATS, max(2, round(_TARGET_US / max(rough, 1.0))))


def warm_up(clock: Clock | HostClock, versions: Sequence[Version], seconds: float) -> None:
    """Run for a while, so that clocks and caches settle."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for version in versions:
            version()
        clock.synchronize()


def block(
    clock: Clock | HostClock, first: Version, second: Version, pace: Pace, turned: bool
) -> tuple[float, float]:
    """Medians of the two over A B B A rounds (or B A A B), in microseconds a call."""
    order = [1, 0, 0, 1] if turned else [0, 1, 1, 0]
    order *= _BLOCK_ROUNDS
    versions = (first, second)
    times = clock.times_us([versions[which] for which in order], pace.repeats, pace.host_s)
    samples: tuple[list[float], list[float]] = ([], [])
    for which, taken in zip(order, times, strict=True):
        samples[which].append(taken)
    return statistics.median(samples[0]), statistics.median(samples[1])
