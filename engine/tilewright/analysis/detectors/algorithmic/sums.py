"""The detector of reductions that every iteration of a loop repeats."""

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tilewright.analysis.detectors.algorithmic.dispatch import fits_block_to_loop
from tilewright.analysis.detectors.common import DOTS, TL, all_numbers, first_line, triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.intervals import number_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import Dim, Shape, tiles_of
from tilewright.analysis.values import Flow, Loop, Value
from tilewright.knowledge.model import HINT
from tilewright.source.model import Kernel, Module
from tilewright.source.text import Range

_MAXIMUM = (TL + "maximum", TL + "math.max", "max")
_MINIMUM = (TL + "minimum", TL + "math.min", "min")
_REDUCTIONS = tuple(TL + name for name in ("sum", "max", "min", "argmax", "argmin", "reduce"))
_FEW_TURNS = 4
_NARROW = 512
_WIDE = 2048
"""Lanes up to which reducing once was clearly faster on an H200 with 4 warps, and from which it
was not (``benchmarks/advice_sizes.py``)."""


@detector("reduction_tree_suboptimal")
def reduction_tree_suboptimal(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Numbers carried through a loop, to which every iteration adds the sum of a tile."""
    for kernel, flow in triton_kernels(module):
        for loop, sums in _by_loop(module, kernel, flow, context):
            first = min(sums, key=lambda each: (each.node.lineno, each.node.col_offset))
            names = " and ".join(dict.fromkeys(each.name for each in sums))
            tiles = "a tile" if len(sums) == 1 else "each of several tiles"
            yield Finding(
                module.index.range_of(first.node),
                f"Every iteration reduces {tiles} to one number for {names}, through shuffles and "
                "shared memory; carrying a tile of partial results leaves one reduction, after "
                "the loop.",
                kernel.name,
                related=(Related("the loop", _head(module, loop)),),
                severity=None
                if any(each.is_narrow for each in sums) and _is_little_work(flow, loop, sums)
                else HINT,
            )


@dataclass(frozen=True)
class _Sum:
    """A reduction whose result a loop carries: its call, and the name that it is carried by.

    ``is_narrow``: its tile surely has few lanes.
    """

    node: ast.Call
    name: str
    is_narrow: bool


def _by_loop(
    module: Module, kernel: Kernel, flow: Flow, context: AnalysisContext
) -> Iterator[tuple[Loop, list[_Sum]]]:
    """The loops of a kernel with the reductions in them that could follow the loop."""
    if not flow.back_edges:
        return
    operands = operand_counts(flow)
    tiles = tiles_of(module, kernel, context)
    found: dict[int, list[_Sum]] = {}
    for phi, end in flow.back_edges.items():
        reduction = _folded(phi, end)
        loop = flow.loops.get(loop_of(phi))
        if reduction is None or loop is None or is_short(loop):
            continue
        only_carried = (operands.get(phi), operands.get(reduction), operands.get(end, 0))
        if only_carried != (1, 1, 0) or reduction.is_invariant_in(loop.number):
            continue
        node = next((n for n, v, _ in flow.placed if v is reduction), None)
        lanes = _lanes(tiles.facts_of(reduction.positional[0]).shape)
        if node is None or lanes is None or fits_block_to_loop(module, kernel, loop):
            continue
        widths = [number_of(lanes, known) for known in all_numbers(module, context, kernel)]
        stated = [width for width in widths if width is not None]
        if stated and min(stated) >= _WIDE:
            continue
        is_narrow = len(stated) == len(widths) > 0 and max(stated) <= _NARROW
        name = str(phi.detail).partition(":")[2]
        found.setdefault(loop.number, []).append(_Sum(node, name, is_narrow))
    yield from ((flow.loops[number], sums) for number, sums in found.items())


def _is_little_work(flow: Flow, loop: Loop, sums: Collection[_Sum]) -> bool:
    """Whether a turn has nothing beside which these reductions are cheap.

    Products, a loop of its own, and reductions that every turn needs cost more.
    """
    follow = {id(each.node) for each in sums}
    stay = (
        loop.number in loops and id(node) not in follow
        for node, _, loops in flow.calls(*DOTS, *_REDUCTIONS)
    )
    return not any(stay) and all(inner.parent != loop.number for inner in flow.loops.values())


def _head(module: Module, loop: Loop) -> Range:
    return first_line(module, loop.node)


def operand_counts(flow: Flow) -> dict[Value, int]:
    """How many values each value is an operand of; what is stored counts, what is carried not."""
    counts: dict[Value, int] = {}
    for value in set(flow.values.values()) | {
        d.value for ds in flow.definitions.values() for d in ds
    }:
        for operand in set(value.operands if value.op != "after" else ()):
            counts[operand] = counts.get(operand, 0) + 1
    for access in flow.writes:
        for part in {access.pointer, access.mask, access.other, access.result}:
            if part is not None:
                counts[part] = counts.get(part, 0) + 1
    return counts


def loop_of(phi: Value) -> int:
    number = str(phi.detail).partition(":")[0]
    return int(number) if number.isdigit() else -1


def _folded(phi: Value, end: Value) -> Value | None:
    """The reduction in ``total + tl.sum(tile)`` or ``tl.maximum(top, tl.max(tile))``."""
    kinds = (("sum", end.is_binary("Add")), ("max", end.is_call(*_MAXIMUM)))
    for name, fits in (*kinds, ("min", end.is_call(*_MINIMUM))):
        if not fits or phi not in end.positional or len(end.positional) != 2:
            continue
        one, two = end.positional
        other = (two if one is phi else one).uncast
        if other.is_call(TL + name) and other.positional and "return_indices" not in other.keywords:
            return other
    return None


def is_short(loop: Loop) -> bool:
    """A loop that is unrolled, or runs a few turns only."""
    if loop.is_static or loop.bounds is None:
        return True
    start, stop, step = (bound.detail if bound.op == "const" else None for bound in loop.bounds)
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int) and step:
        # Not divided: a float does not hold every number that somebody writes.
        return (stop - start) * (1 if step > 0 else -1) <= _FEW_TURNS * abs(step)
    return False


def _lanes(shape: Shape | None) -> Dim | None:
    """The extent of a tile with one axis."""
    return shape[0] if shape is not None and len(shape) == 1 else None
