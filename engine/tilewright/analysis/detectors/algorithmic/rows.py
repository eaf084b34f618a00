"""The detector of kernels that go over one row several times."""

import ast
from collections.abc import Iterator
from itertools import combinations

from tilewright.analysis.detectors.algorithmic.dispatch import (
    fits_block_to_loop,
    is_capped_vocabulary,
    is_for_long_rows,
    is_over_a_head,
    is_over_classes,
    takes_longer_rows,
)
from tilewright.analysis.detectors.common import (
    TL,
    context_numbers,
    first_line,
    loads_in,
    may_overwrite,
    stated_arguments,
    triton_kernels,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.tiles import Tiles, tiles_of
from tilewright.analysis.values import Access, Flow, Loop, same_form, walk
from tilewright.knowledge.model import ADVICE, HINT
from tilewright.source.model import Kernel, Module

_LONGEST_RESIDENT_ROW = 32768
_LONG_ROW = 16384
_MANY_PASSES = 3
"""Elements and passes from which one pass was clearly faster on an H200; with two passes over
shorter rows it was 1.0x to 1.1x as fast (``benchmarks/advice_sizes.py``)."""


@detector("multi_pass_row")
def multi_pass_row(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Loops over the same row, one after another, that load the same elements again."""
    for kernel, flow in triton_kernels(module):
        tiles = tiles_of(module, kernel)
        for group in _sibling_loops(flow, tiles):
            repeats = [
                (one, two)
                for first, later in combinations(group, 2)
                for one, two in _reloads(module, kernel, flow, first, later)
            ]
            if not repeats:
                continue
            passes = {one.base: _passes(flow, group, one, tiles) for one, _ in repeats}
            first, again = max(repeats, key=lambda pair: len(passes[pair[0].base]))
            reading = passes[first.base]
            if _exceeds_a_block(context, kernel, group[0]) or is_for_long_rows(module, kernel):
                continue
            if _has_branch_for_one_block(kernel, group[0]):
                continue
            if is_capped_vocabulary(module, kernel, flow, group[0], first.base):
                continue
            lengths = _row_lengths(module, context, kernel, group[0])
            fitted = fits_block_to_loop(module, kernel, group[0])
            is_short = fitted or all(n is not None and n <= _LONGEST_RESIDENT_ROW for n in lengths)
            is_short = is_short and not is_over_classes(module, kernel, group[0], first.base)
            is_short = is_short and not _is_folded(module, kernel, group[0])
            is_short = is_short and not takes_longer_rows(module, kernel, group[0])
            is_short = is_short and not is_over_a_head(module, kernel, group[0])
            is_long = all(n is not None and n >= _LONG_ROW for n in lengths)
            is_costly = is_short and (is_long or (fitted and len(reading) >= _MANY_PASSES))
            needs = "a row that fits one block needs one pass"
            yield Finding(
                module.index.range_of(again.node),
                f"The row is read from memory {len(reading)} times, once in each of "
                f"{len(reading)} loops over it; {needs}"
                f"{'.' if is_short else ', and nothing here says how long a row is.'}",
                kernel.name,
                severity=(None if is_long else ADVICE) if is_costly else HINT,
                related=(
                    Related("first read here", module.index.range_of(first.node)),
                    *(
                        Related("a pass over the row", first_line(module, loop.node))
                        for loop in group
                        if loop.number in reading
                    ),
                ),
            )


def _row_lengths(
    module: Module, context: AnalysisContext, kernel: Kernel, loop: Loop
) -> list[int | None]:
    """The row's length at each launch that was captured, or that the file states; None: unknown."""
    if loop.bounds is None:
        return [None]
    stated = [
        Numbers(stated_arguments(module, kernel, launch))
        for launch in module.launches_of(kernel.name)
    ]
    numbers = [*context_numbers(context, kernel.name), *stated] or [Numbers()]
    return [number_of(loop.bounds[1], n) for n in numbers]


def _is_folded(module: Module, kernel: Kernel, loop: Loop) -> bool:
    """Whether the compiler makes one pass of the loops over a row that fits one block.

    Length and block are constants, and the block is fitted to the row: one turn, equal loads.
    """
    ends = () if loop.bounds is None else loop.bounds[1:]
    constants = [end.op == "param" and str(end.detail) in kernel.constexprs for end in ends]
    return all(constants) and fits_block_to_loop(module, kernel, loop)


def _exceeds_a_block(context: AnalysisContext, kernel: Kernel, loop: Loop) -> bool:
    """Whether a captured launch has rows too long to hold in one program's registers."""
    if loop.bounds is None or loop.bounds[2].op != "param":
        return False
    lengths = (number_of(loop.bounds[1], n) for n in context_numbers(context, kernel.name))
    return any(length is not None and length > _LONGEST_RESIDENT_ROW for length in lengths)


def _has_branch_for_one_block(kernel: Kernel, loop: Loop) -> bool:
    """Whether the kernel asks if the row fits one block: the loops then take longer rows only."""
    ends = () if loop.bounds is None else loop.bounds[1:]
    names = {str(end.detail) for end in ends if end.op == "param"}
    return len(names) == 2 and any(
        isinstance(choice.test, ast.Compare)
        and {n.id for n in ast.walk(choice.test) if isinstance(n, ast.Name)} == names
        for choice in nodes_like(kernel.node, ast.If)
    )


def _sibling_loops(flow: Flow, tiles: Tiles) -> Iterator[list[Loop]]:
    """Loops with equal bounds in the same block, two or more, none of them with a dot."""
    groups: dict[tuple[object, ...], list[Loop]] = {}
    with_dot = {loop for _, _, loops in flow.calls(TL + "dot") for loop in loops}
    with_dot |= _with_matrices(flow, tiles)
    for loop in flow.loops.values():
        if loop.bounds is not None and not loop.is_static and loop.number not in with_dot:
            key = (loop.parent, loop.branches, *map(id, loop.bounds))
            groups.setdefault(key, []).append(loop)
    return (group for group in groups.values() if len(group) > 1)


def _with_matrices(flow: Flow, tiles: Tiles) -> set[int]:
    """Loops whose loads are tiles of several rows: more than a program could keep."""
    return {
        access.loops[-1]
        for access in flow.loads
        if access.loops and len(tiles.facts_of(access.pointer).shape or ()) > 1
    }


def _reloads(
    module: Module, kernel: Kernel, flow: Flow, first: Loop, later: Loop
) -> Iterator[tuple[Access, Access]]:
    tiles = tiles_of(module, kernel)
    for one in _row_loads(flow, first, tiles):
        for two in _row_loads(flow, later, tiles):
            if one.base is None or one.base != two.base:
                continue
            if not same_form(one.pointer, two.pointer, {first.number: later.number}):
                continue
            if not may_overwrite(module, kernel, flow, {two.base}, one.order, two.order):
                yield one, two


def _passes(flow: Flow, group: list[Loop], first: Access, tiles: Tiles) -> set[int]:
    """The loops of a group that load the row of a load in one of them."""
    own = first.loops[-1]
    return {
        loop.number
        for loop in group
        for load in _row_loads(flow, loop, tiles)
        if load.base == first.base and same_form(first.pointer, load.pointer, {own: loop.number})
    }


def _row_loads(flow: Flow, loop: Loop, tiles: Tiles) -> Iterator[Access]:
    """One-dimensional loads directly in a loop that move along with its index."""
    for access in flow.loads:
        if access.loops and access.loops[-1] == loop.number and access.is_plain:
            shape = tiles.facts_of(access.pointer).shape
            moves = any(
                v.op == "loop_index" and v.detail == loop.number for v in walk(access.pointer)
            )
            is_row = shape is not None and len(shape) == 1 and not _walks_a_matrix(loop, access)
            if moves and is_row and not _indirect(access):
                yield access


def _walks_a_matrix(loop: Loop, access: Access) -> bool:
    """Whether each turn loads a row of its own: an index in steps of 1, times a stride.

    Blocks of one row are further apart by the length of a block.
    """
    if loop.bounds is None or not loop.bounds[2].is_const(1):
        return False
    parts = list(walk(access.pointer))
    lengths = {part.operands[1] for part in parts if part.op == "arange"}
    factors = [
        other
        for part in parts
        if part.is_binary("Mult")
        for one, other in (part.operands, part.operands[::-1])
        if one.op == "loop_index" and one.detail == loop.number
    ]
    return bool(factors) and not any(factor in lengths for factor in factors)


def _indirect(access: Access) -> bool:
    return any(True for _ in loads_in(access.pointer))
