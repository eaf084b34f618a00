"""Loops that do one after another what lanes, or programs, could do at the same time."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import (
    DOTS,
    TL,
    first_line,
    source_numbers,
    triton_kernels,
)
from tilewright.analysis.detectors.host_code.facts import is_measuring
from tilewright.analysis.detectors.program_counts import grid_extents
from tilewright.analysis.intervals import number_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import Tiles, tiles_of
from tilewright.analysis.values import Access, Flow, Loop, Value, values_within, walk
from tilewright.source.model import Kernel, Launch, Module

_SHORTEST = 8
"""Turns of a literal range from which on lanes are worth a tile."""

_LIKELY = 2
"""The severity: how much time it costs hangs on the sizes."""


def serial_loops(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Loops of independent turns: over single elements, or over an axis the grid lacks."""
    for kernel, flow in triton_kernels(module):
        if not flow.loops or flow.may_write_unknown:
            continue
        carried = _carrying(flow)
        candidates = [
            loop
            for loop in flow.loops.values()
            if loop.number not in carried and loop.bounds is not None and not loop.is_static
        ]
        if not candidates:
            continue
        tiles = tiles_of(module, kernel, context)
        for loop in candidates:
            message = _serial(module, kernel, flow, tiles, loop)
            if message is not None:
                yield Finding(first_line(module, loop.node), message, kernel.name, severity=_LIKELY)


def _serial(module: Module, kernel: Kernel, flow: Flow, tiles: Tiles, loop: Loop) -> str | None:
    inside = [a for a in flow.accesses if loop.number in a.loops]
    stores = [a for a in inside if a.kind == "store"]
    read = {a.base for a in inside if a.kind == "load"}
    if not stores or any(a.kind == "atomic" for a in inside) or not _has_unit_step(loop):
        return None
    if any(a.base is None or a.base in read or not _moves(a.pointer, loop) for a in stores):
        return None
    if _visits_elements(module, kernel, tiles, loop, inside):
        return (
            "Each iteration of this loop loads and stores single elements, and none needs the "
            "iteration before: one lane works at a time, where a tile over the whole range does "
            "all at once."
        )
    if _is_axis_of_grid(module, kernel, flow, tiles, loop, inside):
        return (
            "No iteration of this loop needs the one before, and each works on tiles of its own: "
            "the grid counts other axes alone, and with this one as well the iterations would run "
            "side by side on all compute units."
        )
    return None


def _carrying(flow: Flow) -> set[int]:
    """Loops in which a turn reads what the turn before has computed."""
    read = {o for v in flow.values.values() for o in v.operands}
    read |= {a.result for a in flow.writes if a.result is not None}
    return {
        int(str(phi.detail).partition(":")[0])
        for phi, end in flow.back_edges.items()
        if end is not phi and phi in read
    }


def _has_unit_step(loop: Loop) -> bool:
    return loop.bounds is not None and loop.bounds[2].is_const(1)


def _moves(pointer: Value, loop: Loop) -> bool:
    return any(v.op == "loop_index" and v.detail == loop.number for v in walk(pointer))


def _may_be_short(module: Module, kernel: Kernel, stop: Value) -> bool:
    """Whether a number of turns that is compiled in may be less than a tile is worth."""
    constant = set(kernel.constexprs)
    if not all(v.op != "param" or v.detail in constant for v in walk(stop)):
        return False
    turns = [number_of(stop, numbers) for _, numbers in source_numbers(module, kernel)]
    return not turns or any(number is None or number < _SHORTEST for number in turns)


def _visits_elements(
    module: Module, kernel: Kernel, tiles: Tiles, loop: Loop, inside: list[Access]
) -> bool:
    """Whether a loop, the innermost, touches single elements at addresses that it counts up."""
    if any(access.loops[-1] != loop.number for access in inside):
        return False
    assert loop.bounds is not None
    start, stop, _ = loop.bounds
    if start.is_const(0) and _may_be_short(module, kernel, stop):
        return False
    # A number that was loaded for each program may be small.
    if any(v.op in ("load", "opaque") for bound in (start, stop) for v in walk(bound)):
        return False
    loads = [a for a in inside if a.kind == "load"]
    shapes = [tiles.facts_of(a.pointer).shape for a in inside]
    return (
        bool(loads)
        and all(shape == () for shape in shapes)
        and all(_counts_up(a.pointer, loop) for a in inside)
    )


def _counts_up(pointer: Value, loop: Loop) -> bool:
    """Whether an address is a sum with the index itself, which no load decides."""
    parts = set(walk(pointer))
    return _moves(pointer, loop) and not any(part.op == "load" for part in parts)


def _is_axis_of_grid(
    module: Module,
    kernel: Kernel,
    flow: Flow,
    tiles: Tiles,
    loop: Loop,
    inside: list[Access],
) -> bool:
    """Whether a loop over all of an extent works on tiles that only it visits."""
    assert loop.bounds is not None
    start, stop, _ = loop.bounds
    is_extent = stop.op == "param" and str(stop.detail) not in kernel.constexprs
    if loop.parent is not None or loop.branches or not start.is_const(0) or not is_extent:
        return False
    if any(True for _ in flow.calls(TL + "num_programs")):
        return False
    loads = [a for a in inside if a.kind == "load"]
    large = [a for a in loads if len(tiles.facts_of(a.pointer).shape or ()) > 1]
    if not large or not all(_moves(a.pointer, loop) for a in loads):
        return False
    # What was loaded before the loop would be loaded by each program.
    outside = {a.result for a in flow.loads if loop.number not in a.loops}
    used = {
        part for a in inside for v in (a.result, a.pointer) if v is not None for part in walk(v)
    }
    if any(_is_costly(tiles, part, loop) for part in used):
        return False
    launches = [
        x for x in module.launches_of(kernel.name) if not is_measuring(x.host_function or "")
    ]
    return not outside & used and bool(launches) and all(_is_short(module, x) for x in launches)


def _is_costly(tiles: Tiles, value: Value, loop: Loop) -> bool:
    """Whether a tile of floats was computed before a loop: each program would compute it."""
    return (
        (value.op == "call" or value.is_binary("Div"))
        and value.is_invariant_in(loop.number)
        and len(tiles.facts_of(value).shape or ()) > 0
    )


def _is_short(module: Module, launch: Launch) -> bool:
    """Whether the grid counts blocks alone, and no rows."""
    extents = grid_extents(module, launch)
    return bool(extents) and all(
        isinstance(extent, ast.Call) and ast.unparse(extent.func).endswith("cdiv")
        for extent in extents
    )


def streamed_by_each(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A loop in which each program multiplies its one row with the same tiles as all others."""
    for kernel, flow in triton_kernels(module):
        if not flow.loops or any(True for _ in flow.calls(*DOTS)):
            continue
        if not module.launches_of(kernel.name):
            continue
        tiles = tiles_of(module, kernel, context)
        sums = [v for _, v, loops in flow.calls(TL + "sum") if loops]
        for access in flow.loads:
            if access.loops and _is_shared(tiles, access) and _meets_row(flow, tiles, access, sums):
                yield Finding(
                    first_line(module, flow.loops[access.loops[-1]].node),
                    f"Every program reads all of {access.base or 'a tensor'} and multiplies it "
                    "with a row of its own: rows together in a tile read it once, as a product; "
                    "with few rows, programs for parts of the range use more of the chip.",
                    kernel.name,
                    related=(Related("read here", module.index.range_of(access.node)),),
                    severity=_LIKELY,
                )
                break


def _is_shared(tiles: Tiles, access: Access) -> bool:
    """Whether the tiles of a loop are the same for all programs."""
    facts = tiles.facts_of(access.pointer)
    mask = None if access.mask is None else tiles.facts_of(access.mask).programs
    moves = any(v.op == "loop_index" for v in walk(access.pointer))
    is_common = facts.programs == frozenset() and (access.mask is None or mask == frozenset())
    return moves and is_common and len([s for s in facts.shape or () if s != 1]) == 2


def _meets_row(flow: Flow, tiles: Tiles, access: Access, sums: list[Value]) -> bool:
    """Whether a sum is of its product with a row that the program has loaded before."""
    rows = {
        a.result
        for a in flow.loads
        if not a.loops
        and len(tiles.facts_of(a.pointer).shape or ()) == 1
        and tiles.facts_of(a.pointer).programs
    }
    for total in sums:
        factors = set(values_within(total, lambda v: v is not access.result and v.op != "load"))
        if access.result in factors and rows & factors:
            return True
    return False
