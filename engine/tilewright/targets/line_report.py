"""What became of each source line, and of the kernel, read from the texts of a compilation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tilewright.targets.assembly.emulation import Mark, emulated, mark_of
from tilewright.targets.assembly.kinds import Kind, kind_of
from tilewright.targets.assembly.listing import listing_of
from tilewright.targets.assembly.mixes import mix
from tilewright.targets.assembly.model import Instruction, Listing
from tilewright.targets.assembly.tiles import TileOp, tile_ops
from tilewright.targets.assembly.widths import bits_of
from tilewright.targets.model import Access, LineReport

READ: Mapping[str, tuple[str, ...]] = {
    "cuda": ("ttgir", "ptx"),
    "hip": ("ttgir", "amdgcn"),
    "xpu": ("ttgir", "xe-asm"),
}
"""The stages of each backend that are read."""

TENSOR = (Kind.WGMMA, Kind.MMA, Kind.TCGEN05_MMA, Kind.MFMA, Kind.WMMA, Kind.DPAS)
"""Kinds of tensor instructions."""

_ACCESSES = {
    Kind.GLOBAL_LOAD: ("load", "global"),
    Kind.GLOBAL_STORE: ("store", "global"),
    Kind.SHARED_LOAD: ("load", "shared"),
    Kind.SHARED_STORE: ("store", "shared"),
    Kind.ASYNC_COPY: ("async_copy", "global"),
    Kind.TMA: ("tma", "global"),
    Kind.BLOCK_LOAD: ("block2d_load", "global"),
    Kind.BLOCK_STORE: ("block2d_store", "global"),
}
_FOR_MANY_THREADS = (Kind.TMA, Kind.BLOCK_LOAD, Kind.BLOCK_STORE)
_SHARED_ATOMICS = (".shared", "ds_", ".slm")


@dataclass(frozen=True)
class Digest:
    """What the texts say.

    Attributes:
        lines: a report for each line of the user's file that anything comes from, in order.
        mix: instructions by kind, of all lines and of none, named as by ``assembly.mix``; and
            ``instructions`` in all.
    """

    lines: tuple[LineReport, ...]
    mix: Mapping[str, int]


@dataclass
class _Line:
    """What is known of a line so far."""

    instructions: int = 0
    kinds: Counter[Kind] = field(default_factory=Counter)
    accesses: Counter[tuple[str, str, int | None]] = field(default_factory=Counter)
    ops: list[TileOp] = field(default_factory=list)
    marks: Counter[Mark] = field(default_factory=Counter)


def digest(
    backend: str,
    texts: Mapping[str, str],
    source: str,
    spills: Mapping[int, tuple[int, int]] | None = None,
) -> Digest:
    """Read a compilation's texts.

    Args:
        texts: those of the stages in ``READ[backend]`` that there are.
        source: the user's file, named as in the texts.
        spills: (loads, stores) by line, where the texts do not tell them: PTX has no registers.
    """
    tiles, code = READ[backend]
    lines: dict[int, _Line] = {}
    for op in tile_ops(texts[tiles], source) if tiles in texts else ():
        lines.setdefault(op.line, _Line()).ops.append(op)
    listing = listing_of(code, texts[code], source) if code in texts else Listing(code, ())
    for one in listing.instructions:
        if one.line is not None:
            _count(lines.setdefault(one.line, _Line()), code, one)
    for number, (loads, stores) in (spills or {}).items():
        kinds = lines.setdefault(number, _Line()).kinds
        kinds[Kind.SPILL_LOAD], kinds[Kind.SPILL_STORE] = loads, stores
    _gather_products(lines)
    told = _emulated(code, lines)
    reports = tuple(_report(number, lines[number], told[number]) for number in sorted(lines))
    return Digest(reports, _mix(listing))


def _gather_products(lines: Mapping[int, _Line]) -> None:
    """Count all tensor instructions on the only line that asks for a product, if there is one.

    They have no other source, but IGC marks some with the line of an operand.
    """
    asking = [line for line in lines.values() if any(op.is_dot for op in line.ops)]
    if len(asking) != 1:
        return
    for line in lines.values():
        for kind in TENSOR:
            if line is not asking[0] and (count := line.kinds.pop(kind, 0)):
                asking[0].kinds[kind] += count


def _mix(listing: Listing) -> Mapping[str, int]:
    counted = {name: n for name, n in mix(listing).items() if name != Kind.OTHER}
    count = len(listing.instructions)
    return {**counted, "instructions": count} if count else {}


def _count(line: _Line, stage: str, one: Instruction) -> None:
    kind = kind_of(stage, one)
    line.instructions += 1
    line.kinds[kind] += 1
    if mark := mark_of(stage, one):
        line.marks[mark] += 1
    if kind is Kind.ATOMIC:
        shared = any(mark in one.opcode for mark in _SHARED_ATOMICS)
        line.accesses["atomic", "shared" if shared else "global", bits_of(stage, one)] += 1
    elif kind in _ACCESSES:
        bits = None if kind in _FOR_MANY_THREADS else bits_of(stage, one)
        line.accesses[(*_ACCESSES[kind], bits)] += 1


def _emulated(stage: str, lines: Mapping[int, _Line]) -> Mapping[int, Mapping[str, int]]:
    """What the chip has no instructions for, by line."""
    has_bf16 = any(line.marks[Mark.BF16] for line in lines.values())
    return {
        number: emulated(stage, line.ops, line.marks, line.instructions, has_bf16=has_bf16)
        for number, line in lines.items()
    }


def _report(number: int, line: _Line, told: Mapping[str, int]) -> LineReport:
    kinds = line.kinds
    return LineReport(
        line=number,
        instructions=line.instructions,
        accesses=tuple(_accesses(line)),
        tensor={str(kind): kinds[kind] for kind in TENSOR if kinds[kind]},
        dots=len({op.place for op in line.ops if op.is_dot}),
        conversions=sum(op.is_conversion for op in line.ops),
        spill_loads=kinds[Kind.SPILL_LOAD],
        spill_stores=kinds[Kind.SPILL_STORE],
        fp64=kinds[Kind.FP64],
        transcendental=kinds[Kind.TRANSCENDENTAL],
        barriers=kinds[Kind.BARRIER],
        loop_depth=_depth(line.ops),
        emulated=told,
    )


def _depth(ops: Iterable[TileOp]) -> int:
    """Loops around a line; what a loop computes for itself is on its own line, but not in it."""
    loops = [op.depth for op in ops if op.is_loop]
    return min(loops) if loops else max((op.depth for op in ops), default=0)


def _accesses(line: _Line) -> Iterable[Access]:
    best = {
        kind: {op.best_bits for op in line.ops if op.access == kind}
        for kind in ("load", "store", "async_copy")
    }
    for (kind, space, bits), count in sorted(line.accesses.items(), key=str):
        # Of several tiles on one line, none is known to be the one an instruction belongs to.
        widest = best[kind] if space == "global" and kind in best else set()
        (known,) = widest if len(widest) == 1 else (None,)
        if known is not None and bits is not None:
            known = max(known, bits)
        yield Access(kind, space, bits, count, known if bits is not None else None)
