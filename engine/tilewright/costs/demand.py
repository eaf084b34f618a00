"""What a compiled launch asks of each part of a chip: counts, before any rate is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.costs.model import Dot, Touch, Turns, Workload
from tilewright.costs.traffic import Asked, asked
from tilewright.targets.model import CompileReport, LineReport

THREADS = 32


@dataclass(frozen=True)
class Phase:
    """A stretch of a program: the body of a loop, or what is in none.

    Attributes:
        turns: how often it runs in a program.
        waits: loads from memory, one after another, that a turn waits for.
        ahead: turns that loads are started before they are needed; 0 where they are not.
        instructions: of one warp in a turn.
        barriers, transcendental: of one warp in a turn.
        dots: products one after another in a turn.
        tensor_flops: of a program in a turn.
        fills: bytes of one turn's loads.
    """

    turns: float
    waits: float = 0.0
    ahead: int = 0
    instructions: float = 0.0
    barriers: float = 0.0
    transcendental: float = 0.0
    dots: int = 0
    tensor_flops: float = 0.0
    fills: float = 0.0


@dataclass(frozen=True)
class Demand:
    """All that a launch asks for; of one program if not said otherwise.

    Attributes:
        programs: of the launch.
        warps: of a program.
        phases: stretches of a program, one after another.
        flops: of tensor instructions, by (kind, element type).
        shared_bytes: read from and written to shared memory.
        asked: of the caches.
        requests: warps' instructions that touch global memory.
        spill_bytes: registers spilled and loaded again, as often as that is done.
        spill_slots: local memory that holds them.
        atomics: elements added to by atomics.
        atomic_sharers: programs that add to the same element.
    """

    programs: int
    warps: int
    phases: tuple[Phase, ...]
    flops: Mapping[tuple[str, str], float] = field(default_factory=dict)
    shared_bytes: float = 0.0
    asked: Asked = field(default_factory=lambda: Asked(0.0, 0.0, 0.0))
    requests: float = 0.0
    spill_bytes: float = 0.0
    spill_slots: float = 0.0
    atomics: float = 0.0
    atomic_sharers: float = 0.0

    def total(self, name: str) -> float:
        """A count of the phases, over all their turns."""
        return sum(phase.turns * float(getattr(phase, name)) for phase in self.phases)


def demand(work: Workload, report: CompileReport) -> Demand:
    """What a compiled launch asks for."""
    warps = max(1, int(report.details.get("warps") or 4))
    lines = {line.line: line for line in report.lines}
    depth = int(report.launch.options.get("num_stages") or 1)
    phases = tuple(_phases(work, lines, warps, depth))
    flops: dict[tuple[str, str], float] = {}
    shared = _shared_moved(work, lines, warps)
    for dot in work.dots:
        kind = _kind(dot, lines)
        key = (kind, dot.dtype)
        flops[key] = flops.get(key, 0.0) + 2.0 * dot.m * dot.n * dot.k * dot.turns
        shared += _operand_bytes(dot, kind, warps) * dot.turns
    atomics = [t for t in work.touches if t.kind == "atomic"]
    distinct = sum((t.spread.distinct(work.programs) if t.spread else 1) for t in atomics)
    return Demand(
        programs=work.programs,
        warps=warps,
        phases=phases,
        flops=flops,
        shared_bytes=shared,
        asked=asked(work),
        requests=_requests(work, lines, warps),
        spill_bytes=_spilled(work, report, lines, warps),
        spill_slots=_slots(report) * THREADS * warps,
        atomics=sum(t.elements * t.inside * t.turns for t in atomics),
        atomic_sharers=len(atomics) * work.programs / distinct if distinct else 0.0,
    )


def _kind(dot: Dot, lines: Mapping[int, LineReport]) -> str:
    found = lines.get(dot.line)
    kinds = dict(found.tensor) if found else {}
    for name in ("wgmma", "tcgen05_mma", "mma", "mfma", "wmma", "dpas"):
        if kinds.get(name):
            return name
    return "fma" if found is not None and found.dots else "mma"


def _phases(
    work: Workload, lines: Mapping[int, LineReport], warps: int, stages: int
) -> Iterator[Phase]:
    owner = {line: _innermost(work.loops, line) for line in lines}
    for number in (None, *work.loops):
        turns = work.loops[number] if number is not None else None
        mine = {n: r for n, r in lines.items() if owner[n] == number}
        yield _phase(work, number, turns, mine, warps, stages)


def _phase(
    work: Workload, number: int | None, turns: Turns | None, lines: Mapping[int, LineReport],
    warps: int, stages: int,
) -> Phase:  # fmt: skip
    loads = [
        t for t in work.touches if t.kind == "load" and (t.loops[-1] if t.loops else None) == number
    ]
    ahead = max((_copies_ahead(r, stages) for r in lines.values()), default=0)
    shares = {n: _share(n, r, work, turns, warps) for n, r in lines.items()}
    weights = {n: _spanned(n, share, shares, loads) for n, share in shares.items()}
    dots = [d for d in work.dots if (d.loops[-1] if d.loops else None) == number]
    total = turns.total if turns else 1.0
    waits = float(max((1 + t.depth for t in loads), default=0))
    if turns is not None and turns.is_static:
        # Written out turn by turn: loads of all turns are under way together.
        waits = waits / max(1.0, turns.each)
    return Phase(
        turns=total,
        waits=waits,
        ahead=ahead,
        instructions=sum(weights[n] * r.instructions for n, r in lines.items()),
        barriers=sum(weights[n] * r.barriers for n, r in lines.items()),
        transcendental=sum(weights[n] * r.transcendental for n, r in lines.items()),
        dots=len(dots),
        tensor_flops=sum(2.0 * d.m * d.n * d.k for d in dots),
        fills=sum(t.elements * t.item * t.inside for t in loads),
    )


def _spanned(line: int, share: float, shares: Mapping[int, float], loads: Sequence[Touch]) -> float:
    """A line's share; that of the load it belongs to if the call goes over several lines."""
    own = (shares[t.line] for t in loads if t.covers(line) and t.line in shares)
    return min((share, *own))


def _innermost(loops: Mapping[int, Turns], line: int) -> int | None:
    around = [(t.last - t.first, n) for n, t in loops.items() if t.first <= line <= t.last]
    return min(around)[1] if around else None


def _copies_ahead(line: LineReport, stages: int) -> int:
    """Turns that a line's copies run ahead of their use."""
    is_async = any(a.kind in ("async_copy", "tma") for a in line.accesses)
    return max(0, stages - 1) if is_async else 0


def _share(line: int, report: LineReport, work: Workload, turns: Turns | None, warps: int) -> float:
    """Part of a line's instructions that one turn runs: code may hold a line several times."""
    if turns is None:
        return 1.0
    if turns.is_static:
        return 1.0 / max(1.0, turns.each)
    held = sum(a.count * (a.bits or 0) for a in report.accesses if a.space == "global")
    needed = sum(t.elements * t.item * 8 for t in work.touches if t.line == line)
    if not held or not needed:
        return 1.0
    copies = held * THREADS * warps / needed
    return 1.0 / copies if copies > 1.5 else 1.0


def _shared_moved(work: Workload, lines: Mapping[int, LineReport], warps: int) -> float:
    """Bytes between registers and shared memory, products' operands aside."""
    dotted = {dot.line for dot in work.dots}
    total = 0.0
    for number, line in lines.items():
        turns, share = _weight(work, number, line, warps)
        for access in line.accesses:
            if access.space == "shared" and number not in dotted:
                total += access.count * (access.bits or 0) / 8 * THREADS * warps * turns * share
    loads = [t for t in work.touches if t.kind == "load" and _is_staged(t.line, lines)]
    return total + sum(t.elements * t.item * t.turns for t in loads)


def _is_staged(line: int, lines: Mapping[int, LineReport]) -> bool:
    found = lines.get(line)
    return found is not None and _copies_ahead(found, 2) > 0


def _weight(work: Workload, number: int, line: LineReport, warps: int) -> tuple[float, float]:
    loop = _innermost(work.loops, number)
    turns = work.loops[loop] if loop is not None else None
    return (turns.total if turns else 1.0), _share(number, line, work, turns, warps)


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


def _requests(work: Workload, lines: Mapping[int, LineReport], warps: int) -> float:
    """Warps' instructions that touch global memory."""
    total = 0.0
    for number, line in lines.items():
        turns, share = _weight(work, number, line, warps)
        count = sum(a.count for a in line.accesses if a.space == "global")
        total += count * warps * turns * share
    return total


def _slots(report: CompileReport) -> float:
    """Local memory of one thread that holds spilled registers, in bytes."""
    told = report.details.get("local_bytes") or report.details.get("stack_bytes")
    return float(told) if told else (report.spill_bytes or 0) / 2


def _spilled(
    work: Workload, report: CompileReport, lines: Mapping[int, LineReport], warps: int
) -> float:
    """Bytes of a program's spills, those in loops as often as these turn."""
    if not report.spill_bytes:
        return 0.0
    marked = weighted = 0.0
    for number, line in lines.items():
        count = line.spill_loads + line.spill_stores
        marked += count
        weighted += count * _weight(work, number, line, warps)[0]
    most = max((t.total for t in work.loops.values()), default=1.0)
    often = weighted / marked if marked else most
    return report.spill_bytes * THREADS * warps * often
