"""Loops that bring the same data to the chip again: adjacent ones, and those inside others."""

import ast
from collections.abc import Iterator
from itertools import pairwise

from tilewright.analysis.detectors.common import finding_at, first_line
from tilewright.analysis.detectors.nki.instructions.traffic import index_symbols, loads
from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    full_dims,
    interpreted,
    is_loop_running,
    nki_detector,
    see,
    shown,
    writes_of,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nki import Affine, Flow, Loop, LoopKind, Operation, View
from tilewright.analysis.nki.affine import ZERO
from tilewright.analysis.nki.model import IndexKind
from tilewright.source.model import Kernel, Module

_BLOCKS = ("body", "orelse")


@nki_detector("nki_reloaded_block")
def reloaded_block(module: Module, flow: Flow) -> Reports:
    for operation, source in loads(flow):
        nest = reloading_nest(flow, operation, source)
        if nest is None or nest[0].symbol is None:
            continue
        text = (
            f"{shown(module, source)} does not depend on {nest[0].symbol.name}, and the loops "
            f"inside load all of its parts again in every iteration of it; a tile for each "
            f"part, filled once before, serves all of them."
        )
        place = see(module, "the loop", getattr(nest[0].node, "iter", None))
        yield operation.statement, text, place


def reloading_nest(
    flow: Flow, operation: Operation, source: View
) -> tuple[Loop, tuple[Loop, ...]] | None:
    """The outermost loop that a load does not depend on, and those inside that it depends on."""
    symbols = index_symbols(flow, operation, source)
    stored = writes_of(flow).get(source.storage)
    if symbols is None or operation.branches or stored or operation.mask is not None:
        return None
    for place, loop in enumerate(operation.loops):
        if loop.symbol is None or loop.symbol in symbols or not is_loop_running(flow, loop):
            continue
        inner = tuple(one for one in operation.loops[place + 1 :] if one.symbol in symbols)
        if inner and full_dims(flow, _target(operation)) is not None:
            return loop, inner
    return None


def _target(operation: Operation) -> View | None:
    return operation.result if operation.result is not None else operation.operands.get("dst")


@detector("nki_fusible_loops")
def fusible_loops(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        # What another kernel passes may be in SBUF already, as tables of blocks are.
        if module.is_helper(kernel):
            continue
        for one, two in fusible_pairs(flow, kernel):
            text = (
                f"This loop runs over the same {two.index} as the one before it and moves some of "
                f"the same data; in one loop what the first part has in SBUF serves the second."
            )
            place = see(module, "the loop before", getattr(one.node, "iter", None))
            where = finding_at(module, kernel, two.node, text, place)
            yield Finding(first_line(module, two.node), where.message, where.kernel, where.related)


def fusible_pairs(flow: Flow, kernel: Kernel) -> Iterator[tuple[Loop, Loop]]:
    """Adjacent loops over the same index whose iterations can be put together, and should be."""
    by_node = {id(loop.node): loop for loop in flow.loops}
    for node in ast.walk(kernel.node):
        for name in _BLOCKS:
            block = getattr(node, name, None)
            for a, b in pairwise(block) if isinstance(block, list) else ():
                one, two = by_node.get(id(a)), by_node.get(id(b))
                if one is not None and two is not None and _may_fuse(flow, one, two):
                    yield one, two


def _may_fuse(flow: Flow, one: Loop, two: Loop) -> bool:
    if one.kind is not LoopKind.AFFINE or two.kind is not LoopKind.AFFINE or not flow.complete:
        return False
    if one.index is None or one.index != two.index or one.trip != two.trip:
        return False
    if not isinstance(one.node, ast.For) or not isinstance(two.node, ast.For):
        return False
    if ast.dump(one.node.iter) != ast.dump(two.node.iter) or one.node.orelse or two.node.orelse:
        return False
    first = [o for o in flow.operations if one in o.loops]
    second = [o for o in flow.operations if two in o.loops]
    return _independent(flow, first, second, one, two) and _shares(first, second, one, two)


def _independent(
    flow: Flow, first: list[Operation], second: list[Operation], one: Loop, two: Loop
) -> bool:
    """Whether no iteration of the second loop needs more of the first than its own iteration."""
    written = [v for o in (*first, *second) for v in o.writes]
    for storage in {v.storage for v in written}:
        mine = [v for o in first for v in (*o.reads, *o.writes) if v.storage is storage]
        theirs = [v for o in second for v in (*o.reads, *o.writes) if v.storage is storage]
        if not mine or not theirs:
            continue
        if not all(_apart(flow, a, b, one, two) for a in mine for b in theirs):
            return False
    return True


def _shares(first: list[Operation], second: list[Operation], one: Loop, two: Loop) -> bool:
    """Whether the second loop loads what the first one loads or stores."""
    brought = {
        (v.storage, _part(v, two, one))
        for o in first
        for v in (*o.reads, *o.writes)
        if not v.storage.on_chip and v.indices is not None
    }
    return any((v.storage, _part(v, two, one)) in brought for o in second for v in o.reads)


_Lanes = frozenset[tuple[Affine | None, Affine | None]]
_Part = tuple[tuple[IndexKind, Affine, int, _Lanes], ...]
"""For each dimension how it is indexed, from where, and the step and extent of its lanes."""


def _part(view: View, two: Loop, one: Loop) -> _Part | None:
    """What a view takes of its tensor, in the index of the first loop; None if not known."""
    if view.indices is None or two.symbol is None or one.symbol is None:
        return None
    found: list[tuple[IndexKind, Affine, int, _Lanes]] = []
    for index in view.indices:
        if index.base is None:
            if index.kind is not IndexKind.FULL:
                return None
            found.append((index.kind, ZERO, index.step, frozenset()))
            continue
        known = {two.symbol: Affine.from_value(one.symbol), **dict.fromkeys(index.lanes, ZERO)}
        lanes = frozenset((index.base.coefficient(x), x.extent) for x in index.lanes)
        found.append((index.kind, index.base.substitute(known), index.step, lanes))
    return tuple(found)


def _apart(flow: Flow, mine: View, theirs: View, one: Loop, two: Loop) -> bool:
    """Whether different iterations touch different elements: a dimension alike in both moves on."""
    parts, others = _part(mine, two, one), _part(theirs, two, one)
    if parts is None or others is None or one.symbol is None:
        return False
    running = {loop.symbol for loop in flow.loops if loop.symbol is not None}
    for part, other in zip(parts, others, strict=False):
        step = part[1].coefficient(one.symbol)
        number = None if step is None else flow.number(step)
        extents = [1 if e is None else flow.number(e) for _, e in part[3]]
        if part != other or not number or part[1].symbols & running != {one.symbol}:
            continue
        if len(extents) <= 1 and all(e is not None and e <= abs(number) for e in extents):
            return True
    return False
