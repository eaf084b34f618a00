"""A version on a device, timed and watched: what the worker tells, read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilewright.devices.model import JobStatus
from tilewright.evaluation.statistics import interval_of
from tilewright.evaluation.workbench import TIMEOUT_S, Workbench, explain
from tilewright.problems.model import Case
from tilewright.profiling.model import Counters, Host, Interval, Share
from tilewright.profiling.profilers import Profiler, Reading, profilers_for
from tilewright.serialize import dump, load
from tilewright.targets.model import LaunchFacts
from tilewright.worker.messages.jobs import CountersJob, Profiled, ProfileJob

BUDGET_S = 0.5
_COUNTERS_TIMEOUT_S = 90.0


@dataclass(frozen=True)
class Watched:
    """One case of a version, run.

    Attributes:
        failure: why there is no more than that.
        launches: of one call, as they were really made, in order.
        shares: what the device ran in a call; empty where no trace was had, and ``notes`` say why.
    """

    case: str
    failure: str | None = None
    time: Interval | None = None
    device: str = ""
    launches: tuple[LaunchFacts, ...] = ()
    shares: tuple[Share, ...] = ()
    host: Host | None = None
    counters: Mapping[str, Counters] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


Timed = list[tuple[Case | None, Watched]]
"""Each case that is timed, watched; one without a case where nothing is, saying why."""


def watch(bench: Workbench, text: str, case: Case) -> Watched:
    """Time a version by itself and log all that it starts."""
    job: ProfileJob = {
        "kind": "profile", "module": str(bench.place(text)), "entry": bench.entry,
        "inputs_from": bench.inputs_from, "case": dump(case), "seed": bench.seed,
        "device": bench.device.info.id, "budget_s": BUDGET_S,
    }  # fmt: skip
    _share_cache(job, bench, text)
    outcome = bench.run(job, TIMEOUT_S)
    if outcome.status is not JobStatus.OK:
        return Watched(case.name, failure=explain(outcome))
    return read(case.name, outcome.value, bench.seed)


def read(case: str, value: Profiled, seed: int) -> Watched:
    """What a ``profile`` job answered."""
    launches = tuple(
        load(LaunchFacts, launch) for launch in value["launches"] if "arguments" in launch
    )
    ours = {launch["kernel"] for launch in value["launches"]}
    activity = value["activity"]
    shares = tuple(
        Share(one["name"], one["count"], one["us"], any(is_kernel(one["name"], k) for k in ours))
        for one in activity["kernels"]
    )
    note = activity.get("note")
    return Watched(
        case,
        time=Interval(*interval_of(value["us"], seed)),
        device=value["device_name"],
        launches=launches,
        shares=shares,
        host=Host(value["host_us"], value["call_us"], activity.get("busy_us")),
        notes=(f"no record of the device's launches: {note}",) if note else (),
    )


def kernel_named(name: str, kernels: Mapping[str, Counters]) -> Counters | None:
    """A kernel's counters, under the name the compiler gave it."""
    return next((found for key, found in kernels.items() if is_kernel(key, name)), None)


def is_kernel(compiled: str, name: str) -> bool:
    """Whether a compiled name is a Triton kernel's; older Tritons append digits and letters."""
    return compiled == name or compiled.startswith(f"{name}_0")


def count(
    bench: Workbench, text: str, case: Case
) -> tuple[Mapping[str, Counters], tuple[str, ...]]:
    """(counters by kernel, notes): one call of a version in the first profiler that tells any."""
    target = bench.device.info.target
    profilers = profilers_for(target.backend) if target is not None else ()
    notes: tuple[str, ...] = ()
    for profiler in profilers:
        reading = _reading(bench, text, case, profiler)
        notes += reading.notes
        if reading.kernels:
            return reading.kernels, notes
    return {}, notes or ("no counters: no profiler is known for this device",)


def _share_cache(job: ProfileJob | CountersJob, bench: Workbench, text: str) -> None:
    """On a device, what is compiled for the one job serves the other."""
    if bench.device.info.target is not None:
        job["cache"] = bench.cache_of(text)


def counters_job(bench: Workbench, text: str, case: Case, profiler: Profiler) -> CountersJob:
    """The job that calls a version of the kernels once in a profiler."""
    job: CountersJob = {
        "kind": "counters", "module": str(bench.place(text)), "entry": bench.entry,
        "inputs_from": bench.inputs_from, "case": dump(case), "seed": bench.seed,
        "device": bench.device.info.id, "tool": profiler.tool(),
    }  # fmt: skip
    _share_cache(job, bench, text)
    return job


def _reading(bench: Workbench, text: str, case: Case, profiler: Profiler) -> Reading:
    outcome = bench.run(counters_job(bench, text, case, profiler), _COUNTERS_TIMEOUT_S)
    if outcome.status is not JobStatus.OK:
        return Reading(notes=(f"no counters: {explain(outcome)}",))
    return profiler.read(outcome.value)
