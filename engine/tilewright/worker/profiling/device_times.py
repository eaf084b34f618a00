"""What a device ran in some calls, by name: Triton's own profiler says, or torch's.

Triton's starts in a twentieth of a second; torch's takes seconds to begin, and knows devices that
Triton's does not.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from ..messages.jobs import Activity, KernelTime

_TIME = "time (ns)"


def device_activity(call: Callable[[], None], device: str, calls: int) -> Activity:
    """What the device ran in ``calls`` calls: kernels, copies, fills.

    Returns: ``kernels`` ``[{name, count, us}]``, both a call's, longest first; ``busy_us`` of a
    call; ``by`` which profiler; ``note`` says why there is nothing.
    """
    kind = device.split(":")[0]
    api: Any = getattr(torch, kind)

    def run() -> None:
        for _ in range(calls):
            call()
        api.synchronize()

    reasons = []
    for tracer in (_by_triton, _by_torch):
        try:
            found = tracer(run, kind, calls)
        except (RuntimeError, ImportError, OSError, ValueError) as error:
            reasons.append(f"{type(error).__name__}: {str(error)[:200]}")
            continue
        if found["kernels"]:
            return found
        reasons.append(str(found.get("note")))
    return {"kernels": [], "note": "; ".join(reasons)}


def _by_triton(run: Callable[[], None], kind: str, calls: int) -> Activity:
    if kind != "cuda":  # AMD's devices are called that too
        return {"kernels": [], "note": f"Triton's profiler does not know {kind} devices"}
    from triton import profiler

    with tempfile.TemporaryDirectory() as folder:
        profiler.start(str(Path(folder, "trace")), context="shadow")
        try:
            run()
        finally:
            profiler.finalize()
        text = Path(folder, "trace.hatchet").read_text(encoding="utf-8")
    return of_tree(json.loads(text), calls)


def of_tree(tree: Sequence[Mapping[str, Any]], calls: int) -> Activity:
    """What the tree of Triton's profiler says of several calls, as those of one."""
    kernels: list[KernelTime] = [
        {"name": name, "count": count / calls, "us": us / calls}
        for root in tree
        for name, count, us in _kernels(root)
    ]
    if not kernels:
        return {"kernels": [], "note": "Triton's profiler was given no activity by the driver"}
    return {
        "kernels": sorted(kernels, key=lambda one: -one["us"]),
        "busy_us": sum(one["us"] for one in kernels),
        "by": "proton",
        "note": None,
    }


def _kernels(node: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    """(name, count, microseconds) of the nodes that a device has spent time in."""
    metrics = node.get("metrics") or {}
    if metrics.get(_TIME) and metrics.get("count"):
        yield node["frame"]["name"], float(metrics["count"]), float(metrics[_TIME]) / 1e3
    for child in node.get("children") or ():
        yield from _kernels(child)


def _by_torch(run: Callable[[], None], kind: str, calls: int) -> Activity:
    wanted = getattr(torch.profiler.ProfilerActivity, kind.upper(), None)
    supported: Any = torch.profiler.supported_activities
    if wanted is None or wanted not in supported():
        return {"kernels": [], "note": f"torch's profiler sees no activity of {kind} devices here"}
    with torch.profiler.profile(activities=[wanted], acc_events=True) as profiler:
        run()
    spans = [
        (event.name, event.time_range.start, event.time_range.end)
        for event in profiler.events() or ()
        if str(event.device_type).rpartition(".")[2] in (kind.upper(), "PrivateUse1")
    ]
    if not spans:
        return {"kernels": [], "note": "torch's profiler was given no activity by the driver"}
    return summed(spans, calls)


def summed(spans: Sequence[tuple[str, float, float]], calls: int) -> Activity:
    """(name, start, end) in microseconds of several calls, as those of one."""
    by_name: dict[str, list[float]] = {}
    for name, start, end in spans:
        by_name.setdefault(name, []).append(end - start)
    kernels: list[KernelTime] = [
        {"name": name, "count": len(times) / calls, "us": sum(times) / calls}
        for name, times in by_name.items()
    ]
    ordered = sorted((start, end) for _, start, end in spans)
    return {
        "kernels": sorted(kernels, key=lambda one: -one["us"]),
        "busy_us": _covered(ordered) / calls,
        "by": "kineto",
        "note": None,
    }


def _covered(ordered: Sequence[tuple[float, float]]) -> float:
    """The length of a union of spans that are sorted by their starts."""
    reach = itertools.accumulate((end for _, end in ordered), max, initial=float("-inf"))
    return sum(
        max(0.0, end - max(start, until))
        for (start, end), until in zip(ordered, reach, strict=False)
    )
