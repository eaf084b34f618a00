"""A call as a whole: whose time it is, and whether the host keeps up."""

from collections.abc import Iterator

from tilewright import figures as q
from tilewright.profiling.bounds import is_host_bound
from tilewright.profiling.model import Finding
from tilewright.profiling.observed import Observed

_FOREIGN = 0.1
_NAME = 60


def host_bound(seen: Observed) -> Iterator[Finding]:
    """The device waits for the host."""
    host = seen.host
    if host is None or host.call_us is None or host.busy_us is None or not is_host_bound(seen):
        return
    idle = 1.0 - host.busy_us / host.call_us
    text = (
        f"host-bound: the host takes {q.time(host.host_us)} to hand a call over and the device is "
        f"busy for {q.time(host.busy_us)}, so called in a row it idles {q.percent(idle)} of the "
        f"{q.time(host.call_us)} a call; fewer launches, a CUDA graph, or larger work would help"
    )
    yield Finding("host", text, 1.5, None, _less_of_the_host(seen), ("host", "call", "device.busy"))


def _less_of_the_host(seen: Observed) -> tuple[str, ...]:
    return ("unfused_kernels",) if len(seen.shares) > 1 else ()


def shares(seen: Observed) -> Iterator[Finding]:
    """Whose time it is, where a call runs more than one thing."""
    total = sum(share.us for share in seen.shares)
    if len(seen.shares) < 2 or not total:
        return
    named = ", ".join(
        f"{share.name[:_NAME]} {q.percent(share.us / total)}" for share in seen.shares[:4]
    )
    left = len(seen.shares) - 4
    more = f" and {left} more" if left > 0 else ""
    foreign = sum(share.us for share in seen.shares if not share.ours) / total
    text = f"the device's time goes to {named}{more}"
    suggests: tuple[str, ...] = ()
    if foreign > _FOREIGN:
        text += f"; {q.percent(foreign)} is not of this file's Triton kernels"
        suggests = ("unfused_elementwise", "fusion_noop")
    elif sum(share.ours for share in seen.shares) > 1:
        suggests = ("unfused_kernels",)
    yield Finding("shares", text, max(0.5, foreign), None, suggests, ("share",))
