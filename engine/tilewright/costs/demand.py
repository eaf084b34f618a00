"""What a compiled launch asks of each part of a chip: counts, before any rate is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.costs.model import Dot, Touch, Turns, Workload
from tilewright.costs.traffic import Asked, asked
from tilewright.targets.model import CompileReport, LineReport

_SEVERAL = 1.5
_LOOP_CONTROL = 8
_LINE = 128
_INSTRUCTION_BYTES = 16
_PADDED = 1.1
_SLACK = 8
_SECTOR_BITS = 256


@dataclass(frozen=True)
class Phase:
    """A stretch of a program: the body of a loop, or what is in none.

    Attributes:
        turns: how often it runs in a program.
        waits: loads from memory, one after another, that a turn waits for.
        ahead: turns that loads are started before they are needed; below 1 where they are not.
        instructions: of one warp in a turn.
        barriers, transcendental: of one warp in a turn.
        dots: products one after another in a turn.
        tensor_flops: of a program in a turn.
        fills: bytes of one turn's loads.
        code_bytes: of machine code that a turn runs through.
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
    code_bytes: float = 0.0


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
        atomics: elements added to by atomics.
        atomic_sharers: programs that add to the same element.
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
    atomics: float = 0.0
    atomic_sharers: float = 0.0
    code_bytes: float = 0.0

    def total(self, name: str) -> float:
        """A count of the phases, over all their turns."""
        return sum(phase.turns * float(getattr(phase, name)) for phase in self.phases)


@dataclass(frozen=True)
class _Code:
    """A report's lines, with the loop that each is in and the part of it that a turn runs."""

    lines: Mapping[int, LineReport]
    loop: Mapping[int, int | None]
    share: Mapping[int, float]
    turns: Mapping[int, float]
    lanes: int
    warps: int
    stages: int
    registers: int
    unrolled: int
    spilled: bool
    bytes_each: float

    def run(self, line: int) -> float:
        """How often a program runs one copy of a line's instructions."""
        return self.share[line] * self.turns[line]


def demand(work: Workload, report: CompileReport, lanes: int = 32) -> Demand:
    """What a compiled launch asks for; ``lanes`` are threads of a warp."""
    code = _code(work, report, lanes)
    flops: dict[tuple[str, str], float] = {}
    shared = _shared_moved(work, code)
    for dot in work.dots:
        kind = _kind(dot, code.lines)
        key = (kind, dot.dtype)
        flops[key] = flops.get(key, 0.0) + 2.0 * dot.m * dot.n * dot.k * dot.turns
        shared += _operand_bytes(dot, kind, code.warps) * dot.turns
    atomics = [t for t in work.touches if t.kind == "atomic"]
    distinct = sum((t.spread.distinct(work.programs) if t.spread else 1) for t in atomics)
    threads = lanes * code.warps
    return Demand(
        lanes=lanes,
        programs=work.programs,
        warps=code.warps,
        phases=tuple(_phase(work, number, code) for number in (None, *work.loops)),
        flops=flops,
        shared_bytes=shared,
        asked=asked(work),
        requests=_requests(code, spread=False),
        wavefronts=_requests(code, spread=True),
        again=_again(code),
        spill_bytes=_spilled(work, report, code) * threads,
        spill_slots=_slots(report) * threads,
        atomics=sum(t.elements * t.inside * t.turns for t in atomics),
        atomic_sharers=len(atomics) * work.programs / distinct if distinct else 0.0,
        code_bytes=float(report.code_bytes or 0),
    )


def _code(work: Workload, report: CompileReport, lanes: int) -> _Code:
    lines = {line.line: line for line in report.lines}
    warps = max(1, int(report.details.get("warps") or 4))
    loop = {line: _innermost(work.loops, line) for line in lines}
    turns = {line: work.loops[n].total if n is not None else 1.0 for line, n in loop.items()}
    share: dict[int, float] = {}
    for number, line in lines.items():
        inside = loop[number]
        share[number] = 1.0 if inside is None else _share(line, work.loops[inside])
    for touch in work.touches:
        span = [n for n in lines if touch.covers(n) and loop[n] is not None]
        held = _held_bits(lines[n] for n in span) * lanes * warps
        copies = held / (8 * touch.elements * touch.item) if touch.elements else 0.0
        if touch.by_descriptor:
            copies = sum(a.count for n in span for a in lines[n].accesses if a.kind == "tma")
        for number in span if copies > _SEVERAL else ():
            share[number] = min(share[number], 1.0 / copies)
    stages = int(report.launch.options.get("num_stages") or 1)
    return _Code(
        lines, loop, share, turns, lanes, warps, stages, report.registers or 0,
        _unrolled(report, loop), bool(report.spill_bytes),
        (report.code_bytes or 0) / max(1, sum(line.instructions for line in report.lines)),
    )  # fmt: skip


def _unrolled(report: CompileReport, loop: Mapping[int, int | None]) -> int:
    """How often the assembler wrote out the bodies of loops, by the size of its code."""
    if report.target.backend != "cuda" or not report.code_bytes:
        return 1
    looped = sum(line.instructions for line in report.lines if loop[line.line] is not None)
    rest = sum(line.instructions for line in report.lines) - looped
    copies = (report.code_bytes / _INSTRUCTION_BYTES - _PADDED * rest) / looped if looped else 1.0
    return 4 if copies >= 4.5 else 2 if copies >= 2.0 else 1


def _share(line: LineReport, loop: Turns) -> float:
    """Part of a line's instructions that one turn of its loop runs."""
    if loop.is_static:
        return 1.0 / max(1.0, loop.each)
    if line.line == loop.first:
        # What a loop carries is set up on its own line, once.
        return min(
            1.0,
            (_LOOP_CONTROL + line.instructions / max(1.0, loop.each)) / max(1, line.instructions),
        )
    return 1.0


def _held_bits(lines: Iterable[LineReport]) -> float:
    """Bits of one thread's accesses to global memory, as often as they stand in the code."""
    return sum(a.count * (a.bits or 0) for r in lines for a in r.accesses if a.space == "global")


def _kind(dot: Dot, lines: Mapping[int, LineReport]) -> str:
    found = lines.get(dot.line)
    kinds = dict(found.tensor) if found else {}
    for name in ("wgmma", "tcgen05_mma", "mma", "mfma", "wmma", "dpas"):
        if kinds.get(name):
            return name
    return "fma" if found is not None and found.dots else "mma"


def _phase(work: Workload, number: int | None, code: _Code) -> Phase:
    turns = work.loops[number] if number is not None else None
    loads = [t for t in work.touches if t.kind == "load" and _inside(t.loops) == number]
    dots = [d for d in work.dots if _inside(d.loops) == number]
    lines = [n for n in code.lines if code.loop[n] == number]
    waits = float(max((1 + t.depth for t in loads), default=0))
    if turns is not None and turns.is_static:
        # Written out turn by turn: loads of all turns are under way together.
        waits = waits / max(1.0, turns.each)
    barriers = sum(code.share[n] * code.lines[n].barriers for n in lines)
    ahead = max((_copies_ahead(code.lines[n], code.stages) for n in lines), default=0)
    if not ahead:
        waits *= _batches(loads, turns, code)
        # Turns that were written out wait together, unless a store keeps loads behind it.
        stores = any(t.kind != "load" and _inside(t.loops) == number for t in work.touches)
        waits /= 1 if turns is None or barriers or stores else code.unrolled
    return Phase(
        turns=turns.total if turns else 1.0,
        waits=waits,
        ahead=ahead - int(any(_kind(d, code.lines) == "wgmma" for d in dots)),
        instructions=sum(code.share[n] * code.lines[n].instructions for n in lines),
        barriers=barriers,
        transcendental=sum(code.share[n] * code.lines[n].transcendental for n in lines),
        dots=len(dots),
        tensor_flops=sum(2.0 * d.m * d.n * d.k for d in dots),
        fills=sum(t.elements * t.item * t.inside for t in loads),
        code_bytes=code.bytes_each * sum(code.lines[n].instructions for n in lines),
    )


def _batches(loads: Sequence[Touch], turns: Turns | None, code: _Code) -> float:
    """How many round trips the loads of a turn take: where registers lack, one after another."""
    words = sum(t.elements * t.item for t in loads) / 4 / (code.lanes * code.warps)
    carried = turns.carried / (code.lanes * code.warps) if turns is not None else 0.0
    if turns is None or turns.is_static or turns.each < 2 or not carried or code.spilled:
        return 1.0
    if code.registers - carried >= words - _SLACK:
        return 1.0
    return max(1.0, words / 4)


def _inside(loops: Sequence[int]) -> int | None:
    return loops[-1] if loops else None


def _innermost(loops: Mapping[int, Turns], line: int) -> int | None:
    around = [(t.last - t.first, n) for n, t in loops.items() if t.first <= line <= t.last]
    return min(around)[1] if around else None


def _copies_ahead(line: LineReport, stages: int) -> int:
    """Turns that a line's copies run ahead of their use."""
    is_async = any(a.kind in ("async_copy", "tma") for a in line.accesses)
    return max(0, stages - 1) if is_async else 0


def _shared_moved(work: Workload, code: _Code) -> float:
    """Bytes between registers and shared memory, products' operands aside."""
    dotted = {dot.line for dot in work.dots}
    total = 0.0
    for number, line in code.lines.items():
        moved = sum(a.count * (a.bits or 0) for a in line.accesses if a.space == "shared")
        if number not in dotted:
            total += moved / 8 * code.lanes * code.warps * code.run(number)
    staged = {n for n, r in code.lines.items() if _copies_ahead(r, 2)}
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


def _requests(code: _Code, *, spread: bool) -> float:
    """Warps' instructions that touch global memory; or the cache lines that these reach.

    Threads side by side hold elements that are as far apart as the widest access would be. Where
    they are accessed one by one, each instruction reaches as many lines as all of them would.
    """
    total = 0.0
    for number, line in code.lines.items():
        for access in line.accesses:
            if access.space == "global":
                bits = max(access.best_bits or 0, access.bits or 0)
                lines = max(1.0, bits / 8 * code.lanes / _LINE) if spread else 1.0
                total += access.count * lines * code.warps * code.run(number)
    return total


def _again(code: _Code) -> float:
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


def _spilled(work: Workload, report: CompileReport, code: _Code) -> float:
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
