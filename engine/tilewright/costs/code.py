"""A report's lines as a program runs them: in which loop each is, and how much of it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tilewright.costs.model import Dot, Turns, Workload
from tilewright.targets.model import Access, CompileReport, LineReport

_SEVERAL = 1.5
_LOOP_CONTROL = 8
_INSTRUCTION_BYTES = 16
_PADDED = 1.1
_COPY_INSTRUCTIONS = 3
"""Of a copy to shared memory, with its address: 2.7 to 3 in the code of products of 64 columns."""


@dataclass(frozen=True)
class Code:
    """A report's lines, with the loop that each is in and the part of it that a turn runs.

    Attributes:
        lines, loop, share, turns: by line: the report's, the innermost loop's number, the part of
            its instructions that a turn runs, turns of its loop in a program.
        lanes, warps, stages: threads of a warp, warps of a program, stages of its pipelines.
        registers: of a thread; 0 where the compiler does not tell.
        unrolled: copies of a loop's body that the assembler wrote.
        copies: by loop, those of its body that the compiler wrote before it.
        staged: by line, how often its copies to shared memory stand in the code; what else a line
            does stands there once.
        bytes_each: of an instruction.
    """

    lines: Mapping[int, LineReport]
    loop: Mapping[int, int | None]
    share: Mapping[int, float]
    turns: Mapping[int, float]
    lanes: int
    warps: int
    stages: int
    registers: int
    unrolled: int
    copies: Mapping[int, float]
    staged: Mapping[int, float]
    bytes_each: float

    def run(self, line: int) -> float:
        """How often a program runs one copy of a line's instructions."""
        return self.share[line] * self.turns[line]

    def runs(self, line: int, access: Access) -> float:
        """How often a program runs one of equal accesses of a line."""
        staged = self.staged.get(line, 1.0) if access.kind == "async_copy" else 1.0
        return self.run(line) / staged

    def instructions(self, line: int) -> float:
        """Instructions of a line that one turn runs."""
        found = self.lines[line]
        copies = sum(a.count for a in found.accesses if a.kind == "async_copy")
        part = min(found.instructions, _COPY_INSTRUCTIONS * copies)
        staged = self.staged.get(line, 1.0)
        return self.share[line] * (found.instructions - part * (1.0 - 1.0 / staged))

    def barriers(self, line: int) -> float:
        """Barriers of a line that one turn meets; those of copies stand next to each of them."""
        return self.share[line] * self.lines[line].barriers / self.staged.get(line, 1.0)


def code_of(work: Workload, report: CompileReport, lanes: int) -> Code:
    """A report's lines as a program of a workload runs them."""
    lines = {line.line: line for line in report.lines}
    warps = max(1, int(report.details.get("warps") or 4))
    loop = {line: _innermost(work.loops, line) for line in lines}
    turns = {line: work.loops[n].total if n is not None else 1.0 for line, n in loop.items()}
    share: dict[int, float] = {}
    for number, line in lines.items():
        inside = loop[number]
        share[number] = 1.0 if inside is None else _share(line, work.loops[inside])
    staged: dict[int, float] = {}
    for number, copies in _ahead(work, lines, loop, lanes * warps):
        if _rewrites(lines[number]):
            staged[number] = copies
        else:
            share[number] = min(share[number], 1.0 / copies)
    copied = {number: _copies(work, number, lines, lanes * warps) for number in work.loops}
    for number, inside in loop.items():
        if inside is not None and copied[inside] > 1.0 and number != work.loops[inside].first:
            share[number] = min(share[number], 1.0 / copied[inside])
    stages = int(report.launch.options.get("num_stages") or 1)
    return Code(
        lines, loop, share, turns, lanes, warps, stages, report.registers or 0,
        _unrolled(report, loop), copied, staged,
        (report.code_bytes or 0) / max(1, sum(line.instructions for line in report.lines)),
    )  # fmt: skip


def _copies(work: Workload, number: int, lines: Mapping[int, LineReport], threads: int) -> float:
    """How often a loop's body was written out, by the bytes that its loads ask for in all.

    Copies that run ahead of their use stand in front of the loop, too: they tell nothing.
    """
    loads = [t for t in work.touches if t.kind == "load" and t.loops and t.loops[-1] == number]
    found = {n: lines[n] for t in loads for n in lines if t.covers(n)}
    once = sum(t.elements * t.item for t in loads)
    if work.loops[number].is_static or not once or any(copies_ahead(r, 2) for r in found.values()):
        return 1.0
    held = _held_bits(found.values(), "load") * threads / 8
    return held / once if held > _SEVERAL * once else 1.0


def _unrolled(report: CompileReport, loop: Mapping[int, int | None]) -> int:
    """How often the assembler wrote out the bodies of loops, by the size of its code."""
    if report.target.backend != "cuda" or not report.code_bytes:
        return 1
    looped = sum(line.instructions for line in report.lines if loop[line.line] is not None)
    rest = sum(line.instructions for line in report.lines) - looped
    copies = (report.code_bytes / _INSTRUCTION_BYTES - _PADDED * rest) / looped if looped else 1.0
    return 4 if copies >= 4.5 else 2 if copies >= 2.0 else 1


def _ahead(
    work: Workload, lines: Mapping[int, LineReport], loop: Mapping[int, int | None], threads: int
) -> Iterator[tuple[int, float]]:
    """Lines of loops that move their tile several times in the code, and how often.

    The first of these stand in front of the loop and run ahead of it.
    """
    for touch in work.touches:
        span = [n for n in lines if touch.covers(n) and loop[n] is not None]
        held = _held_bits(lines[n] for n in span) * threads
        copies = held / (8 * touch.elements * touch.item) if touch.elements else 0.0
        if touch.by_descriptor:
            copies = sum(a.count for n in span for a in lines[n].accesses if a.kind == "tma")
        yield from ((number, copies) for number in span if copies > _SEVERAL)


def _rewrites(line: LineReport) -> bool:
    """Whether threads read what a line copied to shared memory and write it there anew."""
    kinds = {(a.kind, a.space) for a in line.accesses}
    return {("async_copy", "global"), ("load", "shared"), ("store", "shared")} <= kinds


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


def _held_bits(lines: Iterable[LineReport], kind: str | None = None) -> float:
    """Bits of one thread's accesses to global memory, as often as they are in the code."""
    accesses = (a for r in lines for a in r.accesses if a.space == "global")
    return sum(a.count * (a.bits or 0) for a in accesses if kind in (None, a.kind))


def kind_of(dot: Dot, lines: Mapping[int, LineReport]) -> str:
    """The instruction that a product became; ``mma`` where the report does not tell."""
    found = lines.get(dot.line)
    kinds = dict(found.tensor) if found else {}
    for name in ("wgmma", "tcgen05_mma", "mma", "mfma", "wmma", "dpas"):
        if kinds.get(name):
            return name
    return "fma" if found is not None and found.dots else "mma"


def _innermost(loops: Mapping[int, Turns], line: int) -> int | None:
    around = [(t.last - t.first, n) for n, t in loops.items() if t.first <= line <= t.last]
    return min(around)[1] if around else None


def copies_ahead(line: LineReport, stages: int) -> int:
    """Turns that a line's copies run ahead of their use."""
    is_async = any(a.kind in ("async_copy", "tma") for a in line.accesses)
    return max(0, stages - 1) if is_async else 0
