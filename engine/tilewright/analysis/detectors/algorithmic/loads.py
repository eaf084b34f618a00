"""Detectors of loads that repeat what is known already."""

import ast
from collections.abc import Iterator
from itertools import combinations

from tilewright.analysis.detectors.common import (
    first_line,
    loads_in,
    loop_span,
    may_overwrite,
    triton_kernels,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.values import Access, Flow, Loop, Value, walk
from tilewright.source.model import Kernel, Module


@detector("loop_invariant_code")
def loop_invariant_code(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A load in a loop that gives the same tile in every turn."""
    for kernel, flow in triton_kernels(module):
        for access in flow.loads:
            if not access.loops or not access.is_plain:
                continue
            loop = flow.loops[access.loops[-1]]
            if isinstance(loop.node, ast.While) or access.branches != loop.branches:
                continue
            if not _is_invariant(access, loop.number) or not _writes_inside(flow, loop):
                continue
            bases = {access.base} | {pointer_base(v.operands[0]) for v in _address_loads(access)}
            if may_overwrite(module, kernel, flow, bases, *loop_span(flow, loop.number)):
                continue
            yield Finding(
                module.index.range_of(access.node),
                "This load reads the same addresses in every turn of the loop; because the loop "
                "also writes memory, the compiler does not hoist it, though the write goes "
                "elsewhere.",
                kernel.name,
                related=(Related("the loop", first_line(module, loop.node)),),
            )


def _writes_inside(flow: Flow, loop: Loop) -> bool:
    """Whether a loop writes at all: out of one that does not, Triton hoists loads by itself."""
    return any(loop.number in write.loops for write in flow.writes)


def _is_invariant(access: Access, loop: int) -> bool:
    parts = (access.pointer, access.mask, access.other)
    return all(part is None or part.is_invariant_in(loop) for part in parts)


def _address_loads(access: Access) -> Iterator[Value]:
    return loads_in(access.pointer, access.mask, access.other)


@detector("redundant_computation")
def redundant_computation(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """The same load twice, the first still valid at the second.

    Within one block and with no write between, Triton merges the two by itself.
    """
    for kernel, flow in triton_kernels(module):
        seen: set[Access] = set()
        for first, second in combinations(flow.loads, 2):
            if second in seen or not _repeats(first, second):
                continue
            if _loop_between(flow, first.order, second.order):
                continue
            if not _is_kept_apart(kernel, flow, first, second):
                continue
            bases = {second.base} | {pointer_base(v.operands[0]) for v in _address_loads(second)}
            if may_overwrite(module, kernel, flow, bases, first.order, second.order):
                continue
            seen.add(second)
            line = first.node.lineno
            yield Finding(
                module.index.range_of(second.node),
                f"The tile loaded here was loaded from the same addresses on line {line}, and "
                "nothing has been stored there since; the compiler cannot prove that and loads it "
                "again.",
                kernel.name,
                related=(Related("first loaded here", module.index.range_of(first.node)),),
            )


def _is_kept_apart(kernel: Kernel, flow: Flow, first: Access, second: Access) -> bool:
    """Whether a write elsewhere, or a branch taken at run time, keeps the compiler from merging."""
    if any(first.order < write.order < second.order for write in flow.writes):
        return True
    if first.branches == second.branches:
        return False
    constant = set(kernel.constexprs)
    return any(
        value is not None
        and any(v.op in ("program_id", "load") or _is_runtime(v, constant) for v in walk(value))
        for value in _conditions_around(kernel, flow, first, second)
    )


def _is_runtime(value: Value, constant: set[str]) -> bool:
    return value.op == "param" and value.detail not in constant


def _conditions_around(
    kernel: Kernel, flow: Flow, first: Access, second: Access
) -> Iterator[Value | None]:
    """Conditions of the branches that the second stands in and the first does not."""
    for node in nodes_like(kernel.node, ast.If):
        if _within(node, second) and not _within(node, first):
            yield flow.values.get(node.test)


def _within(node: ast.If, access: Access) -> bool:
    last = node.end_lineno or node.lineno
    return node.lineno < access.node.lineno <= last


def _repeats(first: Access, second: Access) -> bool:
    return (
        first.pointer is second.pointer
        and first.mask is second.mask
        and first.other is second.other
        and first.loops == second.loops
        and second.branches[: len(first.branches)] == first.branches
        and first.is_plain
        and second.is_plain
        and _options(first) == _options(second)
    )


def _options(access: Access) -> set[str | None]:
    return {k.arg for k in access.node.keywords} - {"mask", "other", "eviction_policy"}


def _loop_between(flow: Flow, first: int, second: int) -> bool:
    return any(first < number < second for number in flow.loops)
