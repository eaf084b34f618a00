"""A compile report guessed from the source alone: rough, and only to choose what to compile."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tilewright.costs.model import Dot, Touch, Workload
from tilewright.hardware.model import Chip
from tilewright.targets.model import Access, CompileReport, LaunchFacts, LineReport, Target

_WIDEST = 16
_OTHER_REGISTERS = 40
_PER_ELEMENT = 6
_DOT_INSTRUCTIONS = 24


def guessed_report(work: Workload, launch: LaunchFacts, on: Chip) -> CompileReport:
    """What a compiler may make of a launch; it is not reported."""
    warps = int(launch.options.get("num_warps") or 4)
    stages = int(launch.options.get("num_stages") or 1)
    threads = warps * on.warp_size
    sums = [d.m * d.n / threads for d in work.dots]
    held = [t.elements * t.item / 4 / threads for t in work.touches if not _is_staged(t, work)]
    registers = _OTHER_REGISTERS + max((*sums, 0.0)) + max((*held, 0.0))
    over = max(0.0, registers - on.max_registers)
    shared = max(
        (_operand_bytes(d) * (max(1, stages) if d.loops else 1) for d in work.dots), default=0
    )
    return CompileReport(
        target=Target(on.backend, on.arch),
        kernel=launch.kernel,
        launch=launch,
        ok=shared <= on.shared_limit,
        registers=int(min(on.max_registers, registers)),
        spill_bytes=int(8 * over),
        shared_bytes=int(min(shared, on.shared_limit)),
        details={"warps": warps},
        lines=tuple(_lines(work, threads, warps, on)),
    )


def _lines(work: Workload, threads: int, warps: int, on: Chip) -> Iterator[LineReport]:
    for touch in work.touches:
        count = math.ceil(touch.elements * touch.item / _WIDEST / threads)
        kind = "load" if touch.kind == "load" else "store"
        if _is_staged(touch, work):
            kind = "tma" if touch.by_descriptor else "async_copy"
        each = _PER_ELEMENT * math.ceil(touch.elements / threads)
        access = Access(kind, "global", 8 * _WIDEST, count)
        made = 4 * count if kind in ("async_copy", "tma") else each
        yield LineReport(touch.line, made, (access,))
    for dot in work.dots:
        yield LineReport(dot.line, _DOT_INSTRUCTIONS, tensor={_tensor(dot, warps, on): 1}, dots=1)


def _tensor(dot: Dot, warps: int, on: Chip) -> str:
    if on.backend == "cuda":
        return "wgmma" if on.arch == "90" and dot.m >= 64 and warps % 4 == 0 else "mma"
    return "mfma" if on.backend == "hip" else "dpas"


def _is_staged(touch: Touch, work: Workload) -> bool:
    """Whether it is loaded in a loop that multiplies, and so copied ahead."""
    return (
        touch.kind == "load"
        and bool(touch.loops)
        and any(d.loops and d.loops[-1] == touch.loops[-1] for d in work.dots)
    )


def _operand_bytes(dot: Dot) -> int:
    item = 4 if "32" in dot.dtype else 1 if dot.dtype.startswith(("fp8", "i8")) else 2
    return (dot.m + dot.n) * dot.k * item
