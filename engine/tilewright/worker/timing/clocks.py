"""Clocks: a device's own events, or the host's clock where there is no device.

Everything that a reading rests on is taken from its module when this one is imported, which is
before any code under test: what that code patches later is not what is used here.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

Call = Callable[[], Any]
_L2_FACTOR = 2
_DEFAULT_FLUSH = 256 << 20
_HOST_FLUSH = 8 << 20
# Of torch.cuda._sleep, which counts the multiprocessor's clock: none is faster than this.
_CYCLES_PER_SECOND = 2.0e9
_MAX_DELAY_S = 0.02
# Of the host's usual time for a call, and beyond: on an H200's host, one call in ten was late by
# 50 us or more, and what the device waits for is timed.
DELAY_FACTOR = 1.75
_DELAY_EXTRA_S = 120e-6

_perf_counter = time.perf_counter


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage is looked for: that takes milliseconds, whenever it likes."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@dataclass(frozen=True)
class Laps:
    """Times in microseconds: of a call in each lap, what lay before each, events' span, wall."""

    us: list[float]
    gaps_us: list[float]
    span_us: float
    wall_us: float


@dataclass(frozen=True)
class Stretch:
    """Calls one after another: by the device's events, and by the host until all is idle."""

    event_us: float
    wall_us: float


class DeviceClock:
    """Times calls on a device by its events, behind a flushed cache and a delay.

    The delay keeps the device busy for as long as the host needs to hand the calls over: what is
    timed is the device's work, not Python's. A host that synchronizes inside a call is timed with
    its waiting, as it should be.
    """

    can_graph = True

    def __init__(self, device: str, flush_bytes: int | None = None) -> None:
        self._api: Any = getattr(torch, device.split(":")[0])
        self.device = device
        self._device = torch.device(device)
        self._event, self._wait = self._api.Event, self._api.synchronize
        self._record, self._elapsed = self._event.record, self._event.elapsed_time
        properties = self._api.get_device_properties(self._device)
        self.device_name: str = properties.name
        self.driver = _driver(device)
        self.cache_bytes = int(getattr(properties, "L2_cache_size", 0) or 0)
        size = flush_bytes or _L2_FACTOR * self.cache_bytes or _DEFAULT_FLUSH
        # Read, not written: what is left in the cache has not to be written back meanwhile.
        self._flush_buffer = torch.zeros(size // 4, dtype=torch.float32, device=self._device)
        self._flushed = torch.zeros((), dtype=torch.float32, device=self._device)
        self._reduce = torch.amax
        self._delay: Callable[[int], None] | None = getattr(self._api, "_sleep", None)
        self._flush_s = 0.0
        self.note = (
            "clocks were left as they are; L2 filled with other data before each timed stretch"
        )
        if self._delay is None:
            self._flush_s = self._flush_time()
            self.note += "; this device has no sleep, so more of that keeps it busy"

    def laps(
        self, calls: Sequence[Call], repeats: int, host_s: float, before: Call | None = None
    ) -> Laps:
        """Time each of ``calls``, ``repeats`` times in a row; ``before`` runs ahead of each."""
        self.synchronize()
        began = _perf_counter()
        marks = [self._mark()]
        with _no_collection():
            for call in calls:
                if before is not None:
                    before()
                self._flush()
                self._keep_busy(host_s * repeats)
                marks.append(self._mark())
                for _ in range(repeats):
                    call()
                marks.append(self._mark())
        self.synchronize()
        wall_us = (_perf_counter() - began) * 1e6
        between = [self._us(*pair) for pair in itertools.pairwise(marks)]
        span_us = self._us(marks[0], marks[-1])
        return Laps([us / repeats for us in between[1::2]], between[::2], span_us, wall_us)

    def stretch(self, call: Call, count: int, delay_s: float | None) -> Stretch:
        """``count`` calls one after another; after a delay unless that is None."""
        self.synchronize()
        began = _perf_counter()
        if delay_s is not None:
            self._keep_busy(delay_s)
        start = self._mark()
        for _ in range(count):
            call()
        end = self._mark()
        self.synchronize()
        return Stretch(self._us(start, end), (_perf_counter() - began) * 1e6)

    def here(self) -> contextlib.AbstractContextManager[Any]:
        """Makes this device the current one, on which kernels are launched and events recorded."""
        around: contextlib.AbstractContextManager[Any] = self._api.device(self._device)
        return around

    def synchronize(self) -> None:
        """Wait until the whole device is idle, whatever stream its work is on."""
        self._wait(self._device)

    def free_bytes(self) -> int:
        """Memory that is free on the device."""
        return int(self._api.mem_get_info(self._device)[0])

    def graph(self, function: Call) -> tuple[Call, Any]:
        """(what replays its work, what it returned); raises RuntimeError where it cannot."""
        graph = self._api.CUDAGraph()
        with self._api.graph(graph):
            returned = function()
        return graph.replay, returned

    def _flush(self) -> None:
        self._reduce(self._flush_buffer, 0, out=self._flushed)

    def _mark(self) -> Any:
        event = self._event(enable_timing=True)
        self._record(event)
        return event

    def _us(self, start: Any, end: Any) -> float:
        return float(self._elapsed(start, end)) * 1e3

    def _keep_busy(self, host_s: float) -> None:
        seconds = min(_MAX_DELAY_S, DELAY_FACTOR * host_s + _DELAY_EXTRA_S)
        if self._delay is not None:
            self._delay(int(seconds * _CYCLES_PER_SECOND))
            return
        for _ in range(int(seconds / max(self._flush_s, 1e-6))):
            self._flush()

    def _flush_time(self) -> float:
        self._flush()
        self.synchronize()
        began = _perf_counter()
        for _ in range(5):
            self._flush()
        self.synchronize()
        return (_perf_counter() - began) / 5


class HostClock:
    """The same for the CPU. Says nothing about a GPU; it is for trying the protocol out."""

    can_graph = False

    def __init__(self) -> None:
        self.device = "cpu"
        self.device_name = "cpu"
        self.driver = ""
        self.cache_bytes = 0
        self.note = "host clock: not a GPU time"
        self._flush_buffer = torch.empty(_HOST_FLUSH, dtype=torch.int8)

    def laps(
        self, calls: Sequence[Call], repeats: int, host_s: float, before: Call | None = None
    ) -> Laps:
        """Time each of ``calls``, each ``repeats`` times in a row."""
        marks = [_perf_counter()]
        for call in calls:
            if before is not None:
                before()
            self._flush_buffer.zero_()
            marks.append(_perf_counter())
            for _ in range(repeats):
                call()
            marks.append(_perf_counter())
        between = [(end - start) * 1e6 for start, end in itertools.pairwise(marks)]
        span_us = (marks[-1] - marks[0]) * 1e6
        return Laps([us / repeats for us in between[1::2]], between[::2], span_us, span_us)

    def stretch(self, call: Call, count: int, delay_s: float | None) -> Stretch:
        """``count`` calls one after another."""
        began = _perf_counter()
        for _ in range(count):
            call()
        taken = (_perf_counter() - began) * 1e6
        return Stretch(taken, taken)

    def here(self) -> contextlib.AbstractContextManager[Any]:
        """There is but one."""
        return contextlib.nullcontext()

    def synchronize(self) -> None:
        """Nothing runs behind the host's back."""

    def free_bytes(self) -> int:
        """What inputs and outputs may take."""
        return 1 << 30

    def graph(self, function: Call) -> tuple[Call, Any]:
        """No graphs here."""
        raise RuntimeError("only a GPU runs graphs")


def _driver(device: str) -> str:
    """The driver's version, as far as it can be derived without its tools; "" where it cannot."""
    file = Path("/proc/driver/nvidia/version")
    if device.startswith("cuda") and torch.version.hip is None and file.is_file():
        return file.read_text().partition("\n")[0].partition(":")[2].strip()
    return str(torch.version.hip or "")


AnyClock = DeviceClock | HostClock


def clock_for(device: str, flush_bytes: int | None = None) -> AnyClock:
    """The clock of a device: "cuda:0", "xpu:0"; the host's for the interpreter.

    Make it before code under test is imported.
    """
    if device in ("cpu", "interpreter"):
        return HostClock()
    return DeviceClock(device, flush_bytes)
