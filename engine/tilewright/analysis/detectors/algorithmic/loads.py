"""Detectors of loads that repeat what is known already."""

import ast
from collections.abc import Iterator, Mapping
from itertools import combinations

from tilewright.analysis.detectors.algorithmic.one_tensor import is_equal_under, one_tensor
from tilewright.analysis.detectors.algorithmic.random_streams import dropped_numbers
from tilewright.analysis.detectors.common import (
    TL,
    first_line,
    loads_in,
    loop_span,
    may_overwrite,
    triton_kernels,
)
from tilewright.analysis.detectors.program_counts import grid_extents
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.values import Access, Flow, Loop, Value, walk
from tilewright.knowledge.model import HINT
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Launch, Module


@detector("loop_invariant_code")
def loop_invariant_code(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A load in a loop that gives the same tile in every iteration."""
    for kernel, flow in triton_kernels(module):
        yield from _invariant_loads(module, kernel, flow)


def _invariant_loads(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    for access in flow.loads:
        if not access.loops or not access.is_plain:
            continue
        loop = flow.loops[access.loops[-1]]
        if isinstance(loop.node, ast.While) or access.branches != loop.branches:
            continue
        if _has_one_turn(module, kernel, loop):
            continue
        if not _is_invariant(access, loop.number) or not _writes_inside(flow, loop):
            continue
        bases = {access.base} | {pointer_base(v.operands[0]) for v in _address_loads(access)}
        if may_overwrite(module, kernel, flow, bases, *loop_span(flow, loop.number)):
            continue
        yield Finding(
            module.index.range_of(access.node),
            "This load reads the same addresses in every iteration of the loop; because the "
            "loop also writes memory, the compiler does not hoist it, though the write goes "
            "elsewhere.",
            kernel.name,
            related=(Related("the loop", first_line(module, loop.node)),),
        )


def _has_one_turn(module: Module, kernel: Kernel, loop: Loop) -> bool:
    """Whether a loop shares rows among the programs, and each launch has a program for each row."""
    if loop.bounds is None or not loop.bounds[2].is_call(TL + "num_programs"):
        return False
    start, stop, _ = loop.bounds
    launches = module.launches_of(kernel.name)
    if start.op != "program_id" or stop.op != "param" or not launches:
        return False
    return all(_counts(module, one, start.detail, str(stop.detail)) for one in launches)


def _counts(module: Module, launch: Launch, axis: object, extent: str) -> bool:
    """Whether the grid has as many programs along an axis as a launch passes for a parameter."""
    extents, given = grid_extents(module, launch), launch.arguments.get(extent)
    if given is None or not isinstance(axis, int) or axis >= len(extents):
        return False
    counted = ast.dump(extents[axis])
    return counted in (ast.dump(given), ast.dump(resolve(module, launch, given)))


def _accumulators(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A tile that each iteration of a loop reads from memory and writes back to the same place."""
    for kernel, flow in triton_kernels(module):
        if any(a.kind == "atomic" for a in flow.accesses):
            # Others may wait for what is stored.
            continue
        for store in flow.writes:
            loop = _rewritten_in(flow, store)
            if loop is not None:
                yield Finding(
                    module.index.range_of(store.node),
                    f"Each iteration of the loop stores to the same addresses of {store.base}, "
                    "and reads there what the iteration before has stored: kept in registers, "
                    "the sum is stored once, behind the loop.",
                    kernel.name,
                    related=(Related("the loop", first_line(module, loop.node)),),
                )


def _rewritten_in(flow: Flow, store: Access) -> Loop | None:
    """The loop in which a store, at the same addresses in all turns, follows a load of them."""
    if not store.loops or store.kind != "store" or store.base is None:
        return None
    loop = flow.loops[store.loops[-1]]
    if isinstance(loop.node, ast.While) or store.branches != loop.branches:
        return None
    if not _is_invariant(store, loop.number) or flow.may_write_unknown:
        return None
    same_base = [a for a in flow.accesses if a.base == store.base and loop.number in a.loops]
    reads = [a for a in same_base if a.kind == "load"]
    if not reads or len(reads) + 1 != len(same_base):
        return None
    is_same = all(a.pointer is store.pointer and a.is_plain for a in reads)
    used = set() if store.result is None else set(walk(store.result))
    return loop if is_same and any(_feeds(a, used) for a in reads) else None


def _feeds(access: Access, used: set[Value]) -> bool:
    """Whether a loaded tile goes into a sum."""
    return any(v.is_binary("Add") and access.result in v.operands for v in used)


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
    """The same load twice, the first still valid at the second; sums that are kept in memory;
    random numbers that are dropped.

    Within one block and with no write between, Triton merges two loads by one pointer by itself.
    """
    yield from dropped_numbers(module, context)
    yield from _accumulators(module, context)
    for kernel, flow in triton_kernels(module):
        seen: set[Access] = set()
        same = one_tensor(module, kernel)
        for first, second in combinations(flow.loads, 2):
            is_alias = _is_alias(first, second, same)
            if second in seen or not (is_alias or _repeats(first, second)):
                continue
            if _loop_between(flow, first.order, second.order):
                continue
            if not is_alias and not _is_kept_apart(kernel, flow, first, second):
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
                # What was loaded before comes from a cache.
                severity=HINT,
            )


def _is_alias(first: Access, second: Access, same: Mapping[str, str]) -> bool:
    """Whether two parameters are one tensor, and a load of each has the same addresses."""
    one, two = same.get(first.base or ""), same.get(second.base or "")
    return (
        one is not None
        and one == two
        and first.base != second.base
        and _reads_alike(first, second)
        and is_equal_under(first.pointer, second.pointer, same)
        and _is_equal_mask(first.mask, second.mask, same)
    )


def _is_equal_mask(one: Value | None, two: Value | None, same: Mapping[str, str]) -> bool:
    if one is None or two is None:
        return one is two
    return is_equal_under(one, two, same)


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
        if _is_within(node, second) and not _is_within(node, first):
            yield flow.values.get(node.test)


def _is_within(node: ast.If, access: Access) -> bool:
    last = node.end_lineno or node.lineno
    return node.lineno < access.node.lineno <= last


def _repeats(first: Access, second: Access) -> bool:
    return (
        first.pointer is second.pointer
        and first.mask is second.mask
        and first.other is second.other
        and _reads_alike(first, second)
    )


def _reads_alike(first: Access, second: Access) -> bool:
    """Whether the first always runs before the second, in the same way."""
    return (
        first.loops == second.loops
        and second.branches[: len(first.branches)] == first.branches
        and first.is_plain
        and second.is_plain
        and _options(first) == _options(second)
    )


def _options(access: Access) -> set[str | None]:
    return {k.arg for k in access.node.keywords} - {"mask", "other", "eviction_policy"}


def _loop_between(flow: Flow, first: int, second: int) -> bool:
    return any(first < number < second for number in flow.loops)
