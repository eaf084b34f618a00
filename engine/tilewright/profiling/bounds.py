"""What keeps a subject from being faster, by what is busy."""

from dataclasses import dataclass
from enum import StrEnum

from tilewright.profiling.model import Source
from tilewright.profiling.observed import Observed

_BUSY = 0.6
_NEAR = 0.15


class Bottleneck(StrEnum):
    """What most of the time goes to."""

    MEMORY = "memory"
    ARITHMETIC = "arithmetic"
    L2 = "L2"
    NEAR = "L1"
    ISSUE = "issue"
    LATENCY = "latency"
    """Nothing is busy: warps wait for each other, for data, or there are too few of them."""
    HOST = "host"
    UNKNOWN = "unknown"
    """No counters say it, and the work that is known does not fill the time."""


@dataclass(frozen=True)
class Verdict:
    """The bottleneck, how busy it is (0 to 1), and where that is known from."""

    bottleneck: Bottleneck
    share: float | None
    source: Source


def verdict_of(seen: Observed) -> Verdict | None:
    """What bounds a subject that was timed; None for others, and where nothing is known."""
    if seen.time is None:
        return None
    if seen.host is not None and is_host_bound(seen):
        return Verdict(Bottleneck.HOST, None, Source.CLOCK)
    candidates = _candidates(seen)
    if not candidates:
        return None
    busiest = max(candidates, key=lambda one: one[1])
    if busiest[0] is Bottleneck.L2:
        # All that memory moves goes through that cache as well.
        memory = [one for one in candidates if one[0] is Bottleneck.MEMORY]
        busiest = max([busiest, *memory], key=lambda one: one[1] + (_NEAR if one in memory else 0))
    bottleneck, share, source = busiest
    if share >= _BUSY:
        return Verdict(bottleneck, share, source)
    if seen.counter("memory.busy") is not None:
        return Verdict(Bottleneck.LATENCY, share, Source.COUNTER)
    return Verdict(Bottleneck.UNKNOWN, share, source)


def _candidates(seen: Observed) -> list[tuple[Bottleneck, float, Source]]:
    found = []
    if seen.memory_share is not None:
        found.append((Bottleneck.MEMORY, *seen.memory_share))
    if seen.arithmetic_share is not None:
        found.append((Bottleneck.ARITHMETIC, *seen.arithmetic_share))
    for name, bottleneck in (
        ("memory.busy", Bottleneck.MEMORY),
        ("tensor.busy", Bottleneck.ARITHMETIC),
        ("l2.busy", Bottleneck.L2),
        ("l1.busy", Bottleneck.NEAR),
        ("issue.busy", Bottleneck.ISSUE),
    ):
        share = seen.share_of(name)
        if share is not None:
            found.append((bottleneck, share, Source.COUNTER))
    return found


def is_host_bound(seen: Observed) -> bool:
    """Whether the device waits for the host between calls: it is busy for less than they take."""
    host = seen.host
    if host is None or host.call_us is None or host.busy_us is None:
        return False
    return host.call_us > 1.2 * host.busy_us and host.host_us > 0.7 * host.call_us
