"""``profile``: one version by itself: its time, its launches, all that the device runs for it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ..profiling import device_times, launch_log, prepare
from ..timing.calibration import pace_of, quick_look
from ..timing.clocks import AnyClock, HostClock, clock_for
from ..timing.device_file_lock import holding
from ..trials import version

if TYPE_CHECKING:
    from ..messages.jobs import Activity, Profiled, ProfileJob

_WARM_UP_S = 0.1
_DEFAULT_BUDGET_S = 0.5
_OBSERVED_CALLS = 10
_BATCH = 20
_BATCHES = 5


def perform(job: ProfileJob) -> Profiled:
    """The inputs are made here: nothing that is said of them is a verdict."""
    device = version.place_of(job["device"])
    clock = clock_for(device, job.get("flush_bytes"))
    with (
        version.surroundings(job["device"], job["module"]),
        version.one_config(job, {}),
        torch.no_grad(),
    ):
        call, inputs = prepare.prepared(job, device)
        with holding(job.get("gpu_lock")) as waited:
            return {**_profiled(job, clock, call, inputs), "waited_s": waited}


def _profiled(
    job: ProfileJob, clock: AnyClock, call: Callable[..., Any], inputs: dict[str, Any]
) -> Profiled:
    def once() -> None:
        call(*inputs.values())

    once()  # compiles and tunes
    clock.synchronize()
    log = launch_log.LaunchLog(clock.device)
    with log.open():
        once()
    clock.synchronize()
    budget_s = float(job.get("budget_s") or _DEFAULT_BUDGET_S)
    samples, repeats = quick_look(clock, call, inputs, _WARM_UP_S, budget_s)
    call_us, activity = _in_a_row(clock, once)
    return {
        "us": samples,
        "repeats": repeats,
        "device_name": clock.device_name,
        "clock_note": clock.note,
        "launches": log.launches,
        "launch_us": log.times_us(),
        "host_us": pace_of(clock, call, tuple(inputs.values())).host_us,
        "call_us": call_us,
        "activity": activity,
    }


def _in_a_row(clock: AnyClock, once: Callable[[], None]) -> tuple[float | None, Activity]:
    """Calls one after another, caches as they come: a call's wall time, and what the device ran."""
    if isinstance(clock, HostClock):
        return None, {"kernels": [], "note": "the host's clock sees no device"}
    walls = [clock.stretch(once, _BATCH, None).wall_us / _BATCH for _ in range(_BATCHES)]
    return statistics.median(walls), device_times.device_activity(
        once, clock.device, _OBSERVED_CALLS
    )
