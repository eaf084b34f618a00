"""The detector of loops whose mask asks for the first block's indices in every iteration."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.detectors.common import DOTS, context_numbers, triton_kernels
from tilewright.analysis.detectors.correctness.divisibility import (
    callers_state_divisibility,
    is_whole_at_launches,
    states_divisibility,
)
from tilewright.analysis.detectors.correctness.masks import unexpanded, upper_bounds
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.intervals import number_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.values import Access, Flow, Loop, Value, walk
from tilewright.knowledge.model import HINT
from tilewright.source.model import Kernel, Module


@dataclass(frozen=True)
class FixedMask:
    """An access that a loop moves block by block, under a mask that it does not move.

    Attributes:
        extent, block: the parameters of the loop: ``range(0, extent, block)`` and its kin.
    """

    access: Access
    loop: Loop
    extent: Value
    block: Value

    def rest(self) -> str | None:
        """What is left of the extent in an iteration, in the loop's own names; None without one."""
        target = self.loop.node.target if isinstance(self.loop.node, ast.For) else None
        if not isinstance(target, ast.Name) or self.loop.bounds is None:
            return None
        start, _, step = self.loop.bounds
        if not start.is_const(0):
            return target.id
        passed = f"{target.id} * {self.block.detail}" if step.is_const(1) else target.id
        return f"{self.extent.detail} - {passed}"


@detector("mask_of_first_block")
def mask_of_first_block(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``offs_k < K`` in a loop that moves the pointer along K, and not ``offs_k``."""
    for kernel, flow in triton_kernels(module):
        by_loop: dict[Loop, list[FixedMask]] = {}
        for one in fixed_masks(flow):
            by_loop.setdefault(one.loop, []).append(one)
        for one, *others in by_loop.values():
            if _is_whole(module, context, kernel, one):
                continue
            yield Finding(
                module.index.range_of(one.access.node),
                f"Each iteration moves this {one.access.kind} by {one.block.detail}, and its mask "
                "asks for the indices of the first block, which are always below "
                f"{one.extent.detail}: where {one.block.detail} does not divide "
                f"{one.extent.detail}, the last iteration takes what lies behind.",
                kernel.name,
                # A product with zeros of the other operand leaves the sum as it is.
                severity=HINT if _meets_zeros(flow, one, others) else None,
                related=tuple(
                    Related("as here", module.index.range_of(each.access.node)) for each in others
                ),
            )


def fixed_masks(flow: Flow) -> Iterator[FixedMask]:
    """The accesses whose mask stays that of the first block, in program order."""
    for access in flow.accesses:
        loop = flow.loops.get(access.loops[-1]) if access.loops else None
        walked = _walked(loop) if loop is not None and not loop.is_static else None
        if loop is None or walked is None or access.mask is None:
            continue
        extent, block = walked
        if not access.mask.is_invariant_in(loop.number):
            continue
        asked = {index for index, bound in upper_bounds(access.mask) if bound is extent}
        first = next((index for index in asked if _counts_first_block(index, block)), None)
        if first is not None and _is_moved(flow, access, loop, first, block):
            yield FixedMask(access, loop, extent, block)


def _walked(loop: Loop) -> tuple[Value, Value] | None:
    """The extent and the block of ``range(0, n, B)``, of ``range(cdiv(n, B))`` or backwards."""
    if loop.bounds is None:
        return None
    start, stop, step = loop.bounds
    if stop.is_const(0) and step.op == "unary" and step.detail == "USub":
        pair = start, step.operands[0]
        return pair if all(value.op == "param" for value in pair) else None
    if loop.row is None:
        return None
    within = {str(v.detail): v for bound in (stop, step) for v in walk(bound) if v.op == "param"}
    return within[loop.row[0]], within[loop.row[1]]


def _counts_first_block(index: Value, block: Value) -> bool:
    """``arange(0, B)``, without a place in the extent."""
    index = unexpanded(index)
    return index.op == "arange" and index.operands[0].is_const(0) and index.operands[1] is block


def _is_moved(flow: Flow, access: Access, loop: Loop, index: Value, block: Value) -> bool:
    """Whether the pointer counts the index, and each iteration moves it by the block's length."""
    parts = list(walk(access.pointer))
    if unexpanded(index) not in parts:
        return False
    if any(part.op == "loop_index" and part.detail == loop.number for part in parts):
        return True
    ends = [flow.back_edges[part] for part in parts if part in flow.back_edges]
    return any(not end.is_invariant_in(loop.number) and block in walk(end) for end in ends)


def _is_whole(module: Module, context: AnalysisContext, kernel: Kernel, found: FixedMask) -> bool:
    """Whether blocks are known to fill the extent, so that the last one is cut nowhere."""
    captured = [
        (number_of(found.extent, numbers), number_of(found.block, numbers))
        for numbers in context_numbers(context, kernel.name)
    ]
    if captured:
        return all(n and b and n % b == 0 for n, b in captured)
    return (
        states_divisibility(module, kernel)
        or callers_state_divisibility(module, kernel)
        or is_whole_at_launches(module, kernel, found.extent, found.block)
    )


def _meets_zeros(flow: Flow, one: FixedMask, others: list[FixedMask]) -> bool:
    """Whether the load is multiplied with one whose mask is cut where the extent ends."""
    fixed = {each.access.result for each in (one, *others)}
    for _, dot, _ in flow.calls(*DOTS):
        sides = [set(walk(side)) for side in dot.positional[:2]]
        mine = [side for side in sides if one.access.result in side]
        theirs = [side for side in sides if one.access.result not in side]
        if mine and theirs and fixed.isdisjoint(theirs[0]):
            return any(part.op == "load" for part in theirs[0])
    return False
