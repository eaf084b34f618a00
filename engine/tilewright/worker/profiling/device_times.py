"""What a device ran and when, by torch's profiler where it has activities of the device."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch


def device_activity(call: Callable[[], None], device: str, calls: int) -> dict[str, Any]:
    """What the device ran in ``calls`` calls, by name: kernels, copies, fills.

    Returns: ``kernels`` ``[{name, count, us}]``, both a call's, longest first; ``busy_us`` and
    ``span_us`` of a call, the latter with the gaps between; ``note`` says why there is nothing.
    """
    kind = device.split(":")[0]
    wanted = getattr(torch.profiler.ProfilerActivity, kind.upper(), None)
    supported: Any = torch.profiler.supported_activities
    if wanted is None or wanted not in supported():
        return {"kernels": [], "note": f"torch's profiler sees no activity of {kind} devices here"}
    try:
        spans = _spans(call, wanted, kind, calls)
    except RuntimeError as error:  # the tracer's: the call has run many times before
        return {"kernels": [], "note": f"torch's profiler failed: {str(error)[:200]}"}
    if not spans:
        return {"kernels": [], "note": "torch's profiler was given no activity by the driver"}
    return summed(spans, calls)


def _spans(
    call: Callable[[], None], activity: Any, kind: str, calls: int
) -> list[tuple[str, float, float]]:
    """(name, start, end) in microseconds of all that the device ran."""
    api: Any = getattr(torch, kind)
    with torch.profiler.profile(activities=[activity], acc_events=True) as profiler:
        for _ in range(calls):
            call()
        api.synchronize()
    return [
        (event.name, event.time_range.start, event.time_range.end)
        for event in profiler.events() or ()
        if str(event.device_type).rpartition(".")[2] in (kind.upper(), "PrivateUse1")
    ]


def summed(spans: Sequence[tuple[str, float, float]], calls: int) -> dict[str, Any]:
    """(name, start, end) in microseconds of several calls, as those of one."""
    by_name: dict[str, list[float]] = {}
    for name, start, end in spans:
        by_name.setdefault(name, []).append(end - start)
    kernels = [
        {"name": name, "count": len(times) / calls, "us": sum(times) / calls}
        for name, times in by_name.items()
    ]
    ordered = sorted((start, end) for _, start, end in spans)
    first, last = ordered[0][0], max(end for _, end in ordered)
    return {
        "kernels": sorted(kernels, key=lambda one: -float(str(one["us"]))),
        "busy_us": _covered(ordered) / calls,
        "span_us": (last - first) / calls,
        "note": None,
    }


def _covered(ordered: Sequence[tuple[float, float]]) -> float:
    """The length of a union of spans that are sorted by their starts."""
    reach = itertools.accumulate((end for _, end in ordered), max, initial=float("-inf"))
    return sum(
        max(0.0, end - max(start, until))
        for (start, end), until in zip(ordered, reach, strict=False)
    )
