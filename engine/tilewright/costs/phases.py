"""Stretches of a program, one after another: what each runs, and what it waits for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.costs.code import Code, copies_ahead, kind_of
from tilewright.costs.model import Dot, Touch, Workload
from tilewright.costs.traffic import is_common, place_of

NEW = ("wgmma", "tcgen05_mma")
"""Tensor instructions that run behind the warps that start them."""


@dataclass(frozen=True)
class Phase:
    """The body of a loop, or what is in none.

    Attributes:
        turns: how often it runs in a program.
        depth: loads, one after another, that a turn waits for: more than 1 where an address
            is loaded.
        words: registers of a thread, of 4 bytes, that a turn's loads fill.
        room: registers of a thread that are free for them and for all else; infinite where the
            compiler does not tell.
        together: turns whose loads may be under way together: those that were written out.
        cold: part of the loaded bytes that no program loaded before in this launch.
        by_descriptor: whether tensor descriptors are loaded by.
        copied: whether loads go to shared memory on their own, with no registers held.
        ahead: turns that copies are started before they are needed; below 1 where they are not.
        instructions: of one warp in a turn.
        barriers, transcendental: of one warp in a turn.
        dots: products one after another in a turn.
        made: whether threads compute a factor of one of them in the same turn.
        tensor_flops: of a program in a turn.
        code_bytes: of machine code that a turn runs through.
    """

    turns: float
    depth: float = 0.0
    words: float = 0.0
    room: float = math.inf
    together: float = 1.0
    cold: float = 1.0
    by_descriptor: bool = False
    copied: bool = False
    ahead: int = 0
    instructions: float = 0.0
    barriers: float = 0.0
    transcendental: float = 0.0
    dots: int = 0
    made: bool = False
    tensor_flops: float = 0.0
    code_bytes: float = 0.0


def phases_of(work: Workload, code: Code) -> tuple[Phase, ...]:
    """What is in no loop, and then each loop's body."""
    return tuple(_phases(work, code))


def _phases(work: Workload, code: Code) -> Iterator[Phase]:
    seen: set[object] = set()
    for number in (None, *work.loops):
        yield _phase(work, number, code, seen)
        seen |= {(place_of(t), t.at) for t in _loads(work, number) if t.base is not None}


def _phase(work: Workload, number: int | None, code: Code, seen: set[object]) -> Phase:
    turns = work.loops[number] if number is not None else None
    loads = _loads(work, number)
    dots = [d for d in work.dots if _inside(d) == number]
    lines = [n for n in code.lines if code.loop[n] == number]
    found = [code.lines[n] for n in lines]
    threads = code.lanes * code.warps
    barriers = sum(map(code.barriers, lines))
    stores = any(t.kind != "load" and _is_in(t, number) for t in work.touches)
    ahead = max((copies_ahead(line, code.stages) for line in found), default=0)
    return Phase(
        turns=turns.total if turns else 1.0,
        depth=float(max((1 + t.depth for t in loads), default=0)),
        words=sum(t.elements * t.item for t in loads) / 4 / threads,
        room=code.registers - (turns.carried / threads if turns else 0.0)
        if code.registers else math.inf,
        together=1.0 if number is None else _together(work, number, code, bool(stores or barriers)),
        cold=_cold(loads, work, seen),
        by_descriptor=any(a.kind == "tma" for line in found for a in line.accesses),
        copied=ahead > 0,
        ahead=ahead - int(any(kind_of(d, code.lines) in NEW for d in dots)),
        instructions=sum(map(code.instructions, lines)),
        barriers=barriers,
        transcendental=sum(code.share[n] * code.lines[n].transcendental for n in lines),
        dots=len(dots),
        made=any(d.made for d in dots),
        tensor_flops=sum(2.0 * d.m * d.n * d.k for d in dots),
        code_bytes=code.bytes_each * sum(line.instructions for line in found),
    )  # fmt: skip


def _together(work: Workload, number: int, code: Code, held: bool) -> float:
    """Turns whose loads may be under way together; a store or a barrier keeps them apart."""
    turns = work.loops[number]
    if turns.is_static:
        return max(1.0, turns.each)
    return 1.0 if held else max(float(code.unrolled), min(code.copies[number], turns.each))


def _cold(loads: Sequence[Touch], work: Workload, seen: set[object]) -> float:
    """Part of the bytes that neither an earlier phase nor every other program loads."""
    total = sum(t.elements * t.item * t.inside for t in loads)
    new = (t for t in loads if not (t.base is not None and (place_of(t), t.at) in seen))
    first = sum(t.elements * t.item * t.inside for t in new if not is_common(t, work))
    return first / total if total else 0.0


def _loads(work: Workload, number: int | None) -> list[Touch]:
    return [t for t in work.touches if t.kind == "load" and _is_in(t, number)]


def _is_in(touch: Touch, number: int | None) -> bool:
    return _inside(touch) == number


def _inside(one: Touch | Dot) -> int | None:
    return one.loops[-1] if one.loops else None
