"""What a compiled launch asks of each part of a chip: counts, before any rate is known."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.costs.code import Code, code_of, copies_ahead, kind_of
from tilewright.costs.model import Dot, Touch, Workload
from tilewright.costs.phases import Phase, phases_of
from tilewright.costs.traffic import Asked, requests_of
from tilewright.targets.model import Access, CompileReport

_SECTOR_BITS = 256
LINE = 128
"""Bytes of a cache line."""
_VERSION = re.compile(r"triton (\d+)\.(\d+)")
_LAST_FIRST = (3, 7)


@dataclass(frozen=True)
class Demand:
    """All that a launch asks for; of one program if not said otherwise.

    Attributes:
        lanes: threads of a warp.
        programs: of the launch.
        warps: of a program.
        phases: stretches of a program, one after another.
        flops: of tensor instructions, by (kind, element type).
        shared_bytes: read from and written to shared memory.
        asked: of the caches.
        requests: warps' instructions that touch global memory.
        wavefronts: cache lines that these reach.
        again: how often a sector is asked for by instructions that follow each other.
        spill_bytes: registers spilled and loaded again, as often as that is done.
        spill_slots: local memory that holds them.
        atomic_bytes: of elements that atomics add to.
        atomic_lines: cache lines that programs next to each other add to; see ``atomic_lines``.
        code_bytes: of machine code.
    """

    lanes: int
    programs: int
    warps: int
    phases: tuple[Phase, ...]
    flops: Mapping[tuple[str, str], float] = field(default_factory=dict)
    shared_bytes: float = 0.0
    asked: Asked = field(default_factory=lambda: Asked(0.0, 0.0, 0.0))
    requests: float = 0.0
    wavefronts: float = 0.0
    again: float = 1.0
    spill_bytes: float = 0.0
    spill_slots: float = 0.0
    atomic_bytes: float = 0.0
    atomic_lines: float = 1.0
    code_bytes: float = 0.0

    def total(self, name: str) -> float:
        """A count of the phases, over all their turns."""
        return sum(phase.turns * float(getattr(phase, name)) for phase in self.phases)


def demand(
    work: Workload, report: CompileReport, lanes: int = 32, concurrent: float = math.inf
) -> Demand:
    """What a compiled launch asks for.

    Args:
        lanes: threads of a warp.
        concurrent: programs that the chip keeps at a time.
    """
    code = code_of(work, report, lanes)
    flops: dict[tuple[str, str], float] = {}
    shared = _shared_moved(work, code)
    for dot in work.dots:
        kind = kind_of(dot, code.lines)
        key = (kind, dot.dtype)
        flops[key] = flops.get(key, 0.0) + 2.0 * dot.m * dot.n * dot.k * dot.turns
        shared += _operand_bytes(dot, kind, code.warps) * dot.turns
    threads = lanes * code.warps
    return Demand(
        lanes=lanes,
        programs=work.programs,
        warps=code.warps,
        phases=phases_of(work, code),
        flops=flops,
        shared_bytes=shared,
        asked=requests_of(work),
        requests=_requests(code),
        wavefronts=_wavefronts(work, code, last_comes_first(report.toolchain)),
        again=_again(code),
        spill_bytes=_spilled(work, report, code) * threads,
        spill_slots=_slots(report) * threads,
        atomic_bytes=sum(t.elements * t.item * t.inside * t.turns for t in _atomics(work)),
        atomic_lines=atomic_lines(work, concurrent),
        code_bytes=float(report.code_bytes or 0),
    )


def _atomics(work: Workload) -> list[Touch]:
    return [t for t in work.touches if t.kind == "atomic"]


def atomic_lines(work: Workload, concurrent: float) -> float:
    """Cache lines that the first programs add to, so many as run at a time; at least 1."""
    running = min(work.programs, concurrent)
    tiles = ((t, t.spread.distinct(running) if t.spread else running) for t in _atomics(work))
    return max(1.0, sum(count * t.elements * t.item * t.inside for t, count in tiles) / LINE)


def _shared_moved(work: Workload, code: Code) -> float:
    """Bytes between registers and shared memory, products' operands aside."""
    dotted = {dot.line for dot in work.dots}
    total = 0.0
    for number, line in code.lines.items():
        moved = sum(a.count * (a.bits or 0) for a in line.accesses if a.space == "shared")
        if number not in dotted:
            total += moved / 8 * code.lanes * code.warps * code.run(number)
    staged = {n for n, r in code.lines.items() if copies_ahead(r, 2)}
    loads = (t for t in work.touches if t.kind == "load" and any(map(t.covers, staged)))
    return total + sum(t.elements * t.item * t.turns for t in loads)


def _operand_bytes(dot: Dot, kind: str, warps: int) -> float:
    """Shared memory that the operands of one product are read from, in bytes."""
    item = 4 if "32" in dot.dtype else 1 if "8" in dot.dtype else 2
    if kind == "wgmma":
        groups = max(1, warps // 4)
        rows = max(1, dot.m // 64)
        across = max(1, groups // rows)
        wide = max(1, min(256, dot.n // across))
        return item * dot.k * (dot.m * max(1, dot.n // wide) + dot.n * rows)
    by_rows = 1
    while by_rows * 2 <= warps and by_rows * 2 * 16 <= dot.m and by_rows * by_rows < warps:
        by_rows *= 2
    return item * dot.k * (dot.m * max(1, warps // by_rows) + dot.n * by_rows)


def _requests(code: Code) -> float:
    """Warps' instructions that touch global memory."""
    return sum(
        access.count * code.warps * code.runs(number, access)
        for number, line in code.lines.items()
        for access in line.accesses
        if access.space == "global"
    )


def _wavefronts(work: Workload, code: Code, last_first: bool) -> float:
    """Cache lines that warps' instructions reach, each instruction by itself.

    Threads side by side hold elements that are as far apart as the widest access would be. Where
    they are accessed one by one, each instruction reaches as many lines as all of them would.
    """

    def reached(number: int, access: Access) -> float:
        bits = max(access.best_bits or 0, access.bits or 0)
        touches = (t for t in work.touches if t.covers(number) and not t.by_descriptor)
        return max(
            (
                reached_lines(t, bits, code.lanes, work.touches, last_first=last_first)
                for t in touches
            ),
            default=max(1.0, bits / 8 * code.lanes / LINE),
        )

    return sum(
        access.count * reached(number, access) * code.warps * code.runs(number, access)
        for number, line in code.lines.items()
        for access in line.accesses
        if access.space == "global"
    )


def _again(code: Code) -> float:
    """How often loads ask for a sector, where a thread loads neighbours one by one."""
    asked_, held = 0.0, 0.0
    for number, line in code.lines.items():
        for access in line.accesses:
            if access.space == "global" and access.kind == "load" and access.bits:
                bits = access.count * access.bits * code.run(number)
                widest = min(max(access.best_bits or 0, access.bits), _SECTOR_BITS)
                asked_ += bits * widest / access.bits
                held += bits
    return asked_ / held if held else 1.0


def _slots(report: CompileReport) -> float:
    """Local memory of one thread that holds spilled registers, in bytes."""
    told = report.details.get("local_bytes") or report.details.get("stack_bytes")
    return float(told) if told else (report.spill_bytes or 0) / 2


def _spilled(work: Workload, report: CompileReport, code: Code) -> float:
    """Bytes that one thread spills and loads again, in loops as often as these turn."""
    if not report.spill_bytes:
        return 0.0
    marked = weighted = 0.0
    for number, line in code.lines.items():
        count = line.spill_loads + line.spill_stores
        marked += count
        weighted += count * code.turns[number]
    most = max((t.total for t in work.loops.values()), default=1.0)
    return report.spill_bytes * (weighted / marked if marked else most)


def reached_lines(
    touch: Touch, bits: int, lanes: int, beside: Sequence[Touch] = (), *, last_first: bool = True
) -> float:
    """Cache lines that lanes side by side reach, each at the first element that it holds.

    Args:
        bits: the widest access that the elements of a lane allow.
        beside: other touches of the program; a lane holds neighbours along an axis without runs
            only where another tile of the same form has runs along it.
        last_first: whether of axes without runs the last comes first.
    """
    left, total = lanes, 1.0
    for at, axis in enumerate(_order(touch, last_first)):
        extent, stride = touch.extents[axis], touch.strides[axis]
        held = max(1, bits // 8 // touch.item) if at == 0 and _is_held(touch, axis, beside) else 1
        count = min(left, max(1, extent // held))
        left //= count
        step = LINE if stride is None else abs(stride) * held * touch.item
        if step:
            total = max(1.0, total * count * min(1.0, step / LINE))
    return total


def last_comes_first(toolchain: str) -> bool:
    """Whether a compile report's Triton prefers the last of axes without runs."""
    found = _VERSION.search(toolchain)
    return found is None or (int(found[1]), int(found[2])) >= _LAST_FIRST


def _order(touch: Touch, last_first: bool) -> list[int]:
    """Axes in the order that lanes go along them."""
    axes = range(min(len(touch.extents), len(touch.strides)))
    runs = [touch.extents[a] if abs(touch.strides[a] or 0) == 1 else 1 for a in axes]
    return sorted(reversed(axes) if last_first else axes, key=lambda axis: -runs[axis])


def _is_held(touch: Touch, axis: int, beside: Sequence[Touch]) -> bool:
    """Whether a lane holds neighbours along an axis."""
    if len(touch.extents) == 1 or abs(touch.strides[axis] or 0) == 1:
        return True
    same = (t for t in beside if t.extents == touch.extents and len(t.strides) > axis)
    return any(abs(t.strides[axis] or 0) == 1 for t in same)
