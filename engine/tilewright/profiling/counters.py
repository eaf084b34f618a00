"""The counters that findings use, by names of our own, whatever the profiler calls them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tilewright.profiling.model import Counters


class Over(StrEnum):
    """How several launches of a kernel make one number."""

    SUM = "sum"
    MEAN = "mean"
    """Weighted with each launch's time."""


@dataclass(frozen=True)
class Wanted:
    """A counter: its unit, how launches are put together, what it tells."""

    unit: str
    over: Over
    tells: str


TIME = "time"
WANTED: Mapping[str, Wanted] = {
    TIME: Wanted("us", Over.SUM, "the launch, at whatever clock the profiler found"),
    "memory.read": Wanted("B", Over.SUM, "read from device memory"),
    "memory.write": Wanted("B", Over.SUM, "written to device memory"),
    "memory.busy": Wanted("%", Over.MEAN, "of what device memory can sustain"),
    "l2.busy": Wanted("%", Over.MEAN, "of what the cache that all units share can sustain"),
    "l2.hit": Wanted("%", Over.MEAN, "sectors found in the cache that all units share"),
    "l2.bytes": Wanted("B", Over.SUM, "through the cache that all units share"),
    "l1.hit": Wanted("%", Over.MEAN, "sectors found in a unit's own cache"),
    "l1.busy": Wanted("%", Over.MEAN, "of what the units' own caches can sustain"),
    "load.requests": Wanted("count", Over.SUM, "warps' loads from global memory"),
    "load.sectors": Wanted("count", Over.SUM, "32-byte sectors that these reach"),
    "store.requests": Wanted("count", Over.SUM, "warps' stores to global memory"),
    "store.sectors": Wanted("count", Over.SUM, "32-byte sectors that these reach"),
    "shared.conflicts": Wanted("count", Over.SUM, "extra passes because of bank conflicts"),
    "shared.passes": Wanted("count", Over.SUM, "all passes through shared memory"),
    "occupancy.achieved": Wanted("%", Over.MEAN, "of the warps that fit on a unit, while it works"),
    "occupancy.possible": Wanted(
        "%", Over.MEAN, "of these, the part that registers and other limits allow"
    ),
    "issue.busy": Wanted("%", Over.MEAN, "cycles in which a scheduler issues an instruction"),
    "tensor.busy": Wanted("%", Over.MEAN, "cycles in which the tensor unit works"),
    "units.busy": Wanted("%", Over.MEAN, "of the peak of the units' busiest part"),
    "fp32.flop": Wanted("flop", Over.SUM, "of fp32 vector instructions, a multiply-add being two"),
    "local.loads": Wanted("count", Over.SUM, "warps' loads from local memory, which holds spills"),
    "local.stores": Wanted("count", Over.SUM, "warps' stores to local memory"),
    "waves": Wanted("ratio", Over.MEAN, "programs over those that run at the same time"),
}
"""All optional: a profiler gives those it has."""


def merged(launches: Sequence[Counters]) -> Counters:
    """Counters of one kernel from those of each of its launches."""
    weights = [launch.get(TIME) or 1.0 for launch in launches]
    total = sum(weights) or 1.0
    values: dict[str, float] = {}
    for name, wanted in WANTED.items():
        known = [
            (value, weight)
            for launch, weight in zip(launches, weights, strict=True)
            if (value := launch.get(name)) is not None
        ]
        if len(known) < len(launches):
            continue  # told of some launches alone: nothing can be said of the kernel
        values[name] = sum(
            value if wanted.over is Over.SUM else value * weight / total for value, weight in known
        )
    reasons = {reason for launch in launches for reason in launch.stalls}
    stalls = {
        reason: sum(
            launch.stalls.get(reason, 0.0) * weight / total
            for launch, weight in zip(launches, weights, strict=True)
        )
        for reason in sorted(reasons)
    }
    lines: dict[int, dict[str, float]] = {}
    for launch in launches:
        for line, samples in launch.line_stalls.items():
            kept = lines.setdefault(line, {})
            for reason, count in samples.items():
                kept[reason] = kept.get(reason, 0.0) + count
    return Counters(values, stalls, lines, launches[0].tool if launches else "")
