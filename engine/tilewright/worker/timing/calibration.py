"""How long a call takes, roughly, and how often in a row to time it; a look at one version."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import resampled_inputs
from .clocks import AnyClock
from .versions import InputSets, Side, sets_wanted

_SHORT_US = 30.0
_TARGET_US = 60.0
_ROUGH_CALLS = 5
_LONG_S = 0.02
_BATCH = 10
_MIN_SAMPLES = 10
_MAX_SAMPLES = 400

_perf_counter = time.perf_counter


@dataclass(frozen=True)
class Pace:
    """Microseconds that the host takes to hand a call over, and roughly those of the call."""

    host_us: float
    rough_us: float


def pace_of(clock: AnyClock, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Pace:
    """The pace of one version; it has been called before."""
    began = _perf_counter()
    function(*arguments)
    clock.synchronize()
    count = _ROUGH_CALLS if _perf_counter() - began < _LONG_S else 1
    taken = [_handed_over(clock, function, arguments) for _ in range(2 * count)][count:]
    host_s = statistics.median(taken)
    calls = [lambda: function(*arguments)] * count
    return Pace(host_s * 1e6, statistics.median(clock.laps(calls, 1, host_s).us))


def _handed_over(
    clock: AnyClock, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> float:
    """Seconds until the host has a call behind it; the device is idle before and after."""
    began = _perf_counter()
    function(*arguments)
    taken = _perf_counter() - began
    clock.synchronize()
    return taken


def repeats_for(rough_us: float) -> int:
    """Calls in a row that are timed as one, so that a short one lasts beyond a clock's grain."""
    if rough_us >= _SHORT_US:
        return 1
    return min(resampled_inputs.MAX_SETS, max(2, round(_TARGET_US / max(rough_us, 1.0))))


def quick_look(
    clock: AnyClock,
    function: Callable[..., Any],
    inputs: Mapping[str, Any],
    warm_s: float,
    budget_s: float,
) -> tuple[list[float], int]:
    """(microseconds a call, calls in a row) of one version by itself; it verifies nothing."""
    pace = pace_of(clock, function, tuple(inputs.values()))
    repeats = repeats_for(pace.rough_us)
    sets = InputSets(inputs, {}, sets_wanted(clock, inputs, repeats))
    side = Side(function, sets, keeps=1)
    end = _perf_counter() + warm_s
    while _perf_counter() < end:
        side()
        clock.synchronize()
    end = _perf_counter() + budget_s
    samples: list[float] = []
    while len(samples) < _MAX_SAMPLES:
        samples += clock.laps([side] * _BATCH, repeats, pace.host_us / 1e6).us
        if len(samples) >= _MIN_SAMPLES and _perf_counter() > end:
            break
    return samples, repeats
