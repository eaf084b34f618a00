"""Timing one call: device events on a GPU, the host's clock where there is none."""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

Call = Callable[[], Any]
_L2_FACTOR = 2
_DEFAULT_FLUSH = 256 << 20
_HOST_FLUSH = 8 << 20
_CYCLES_PER_SECOND = 2.0e9
_MAX_DELAY_S = 0.02


class Clock:
    """Times batches of calls on a device.

    Before each call the L2 cache is overwritten and the device kept busy for as long as the host
    needs to hand the call over: what is timed is the device's work, not Python's. A host that
    synchronizes inside the call is timed with its waiting, as it should be.
    """

    def __init__(self, device: str, flush_bytes: int | None = None) -> None:
        self._api: Any = getattr(torch, device.split(":")[0])
        self._device = torch.device(device)
        properties = self._api.get_device_properties(self._device)
        self.device_name: str = properties.name
        cache = getattr(properties, "L2_cache_size", 0) or 0
        size = flush_bytes or _L2_FACTOR * cache or _DEFAULT_FLUSH
        self._flush_buffer = torch.empty(size, dtype=torch.int8, device=self._device)
        self._delay: Callable[[int], None] | None = getattr(self._api, "_sleep", None)
        self.note = "clocks were left as they are; L2 overwritten before each timed block"

    def times_us(self, calls: Sequence[Call], repeats: int, host_s: float) -> list[float]:
        """Microseconds a call takes, for each of ``calls``, each run ``repeats`` times in a row."""
        events = []
        cycles = int(min(_MAX_DELAY_S, 1.5 * host_s * repeats + 20e-6) * _CYCLES_PER_SECOND)
        for call in calls:
            start, end = (self._api.Event(enable_timing=True) for _ in range(2))
            self._flush_buffer.zero_()
            if self._delay is not None:
                self._delay(cycles)
            start.record()
            for _ in range(repeats):
                call()
            end.record()
            events.append((start, end))
        self.synchronize()
        return [start.elapsed_time(end) * 1e3 / repeats for start, end in events]

    def synchronize(self) -> None:
        self._api.synchronize(self._device)

    def free_bytes(self) -> int:
        """Memory that is free on the device."""
        return int(self._api.mem_get_info(self._device)[0])


class HostClock:
    """The same for the CPU. Says nothing about a GPU; it is for trying the protocol out."""

    def __init__(self) -> None:
        self.device_name = "cpu"
        self.note = "host clock: says nothing about a GPU"
        self._flush_buffer = torch.empty(_HOST_FLUSH, dtype=torch.int8)

    def times_us(self, calls: Sequence[Call], repeats: int, host_s: float) -> list[float]:
        """Microseconds a call takes, for each of ``calls``."""
        taken = []
        for call in calls:
            self._flush_buffer.zero_()
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            taken.append((time.perf_counter() - start) * 1e6 / repeats)
        return taken

    def synchronize(self) -> None:
        """Nothing runs behind the host's back."""

    def free_bytes(self) -> int:
        return 1 << 30


def clock_for(device: str, flush_bytes: int | None = None) -> Clock | HostClock:
    """The clock of a device: "cuda:0", "xpu:0"; the host's for the interpreter."""
    if device in ("cpu", "interpreter"):
        return HostClock()
    return Clock(device, flush_bytes)


@contextlib.contextmanager
def holding(lock: str | None) -> Iterator[float]:
    """Hold a lock file, so that one job at a time is on the GPU; yields the seconds waited."""
    if not lock:
        yield 0.0
        return
    with Path(lock).open("a") as file:
        start = time.perf_counter()
        fcntl.flock(file, fcntl.LOCK_EX)
        yield time.perf_counter() - start
