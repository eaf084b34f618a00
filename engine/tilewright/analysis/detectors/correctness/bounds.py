"""Detectors of accesses that leave their tensor."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.correctness.counterexamples import outside
from tilewright.analysis.detectors.correctness.divisibility import (
    is_cut_to_whole_blocks,
    is_stated_multiple,
    is_whole_at_launches,
)
from tilewright.analysis.detectors.correctness.lanes import is_in_whole_blocks
from tilewright.analysis.detectors.correctness.masks import (
    additive_parts,
    is_all_bounds,
    is_along_another_axis,
    unexpanded,
    upper_bounds,
)
from tilewright.analysis.detectors.correctness.padding import has_room
from tilewright.analysis.detectors.correctness.partial_masks import (
    arms,
    before_first,
    local_index,
    open_above,
    unchecked_blocks,
)
from tilewright.analysis.detectors.correctness.reach import (
    exact_offsets,
    greatest_offset,
    reach_of,
)
from tilewright.analysis.detectors.correctness.stated_shapes import (
    past_rounded_end,
    past_stated_end,
)
from tilewright.analysis.detectors.correctness.unmasked import (
    across_a_loop_of_blocks,
    in_a_loop_of_blocks,
    on_rounded_grid,
    past_one_axis,
    with_unused_mask,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.intervals import Numbers
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Access, Flow, Value, values_within, walk
from tilewright.knowledge.model import ADVICE
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import LaunchFacts

# A comment on extents; one on a block speaks of another block.
_SAID = re.compile(r"#((?!block).)*?(\b(multiples? of|divisible by)\b|整除)", re.IGNORECASE)
_ACROSS_LANES = tuple(
    TL + name
    for name in (
        *("sum", "max", "min", "argmax", "argmin", "reduce"),
        *("cumsum", "cumprod", "associative_scan", "sort", "topk", "histogram", "gather"),
    )
)
_ORDERS = tuple(TL + name for name in ("sort", "topk"))


@detector("missing_boundary_check")
def missing_boundary_check(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Unmasked loads and stores that leave their tensor, or whose offsets others mask.

    Advice where a comment of the kernel says that its extents are multiples of its blocks.
    """
    stated = {kernel.name for kernel, _ in triton_kernels(module) if _SAID.search(kernel.text)}
    for found in _unmasked(module, context, frozenset(("load", "store"))):
        yield replace(found, severity=ADVICE) if found.kernel in stated else found


@detector("atomic_without_mask")
def atomic_without_mask(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Unmasked atomics that leave their tensor, or whose offsets others mask."""
    yield from _unmasked(module, context, frozenset(("atomic",)))


@detector("param_smaller_than_index_range")
def param_smaller_than_index_range(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A mask that lets through more than the tensor has, as captured or as the file states it."""
    for kernel, flow in triton_kernels(module):
        launches = [launch for launch in context.launches if launch.kernel == kernel.name]
        if _returns_early(kernel):
            continue
        if not launches:
            yield from past_stated_end(module, kernel, flow)
        for access in flow.accesses if launches else ():
            if access.mask is None or access.branches or not is_all_bounds(access.mask):
                continue
            found = next(filter(None, (_outside(access, launch) for launch in launches)), None)
            if found is not None:
                tensor, reached, last = found
                yield Finding(
                    module.index.range_of(access.node),
                    f"The mask lets offsets up to {reached:,} through, and the last element of "
                    f"{tensor} is at {last:,}.",
                    kernel.name,
                )


def _unmasked(module: Module, context: AnalysisContext, kinds: frozenset[str]) -> Iterator[Finding]:
    for kernel, flow in triton_kernels(module):
        launches = [launch for launch in context.launches if launch.kernel == kernel.name]
        if _returns_early(kernel):
            if not launches:
                yield from outside(module, kernel, kinds)
            continue
        chosen = arms(kernel)
        bare = [
            a for a in flow.accesses if a.kind in kinds and _is_bare(a) and a.node not in chosen
        ]
        if not launches:
            yield from _derived(module, kernel, flow, bare, kinds)
        for access in bare if launches else ():
            found = next(filter(None, (_outside(access, launch) for launch in launches)), None)
            if found is not None:
                yield _outside_finding(module, kernel, access, *found)


def _derived(
    module: Module, kernel: Kernel, flow: Flow, accesses: list[Access], kinds: frozenset[str]
) -> Iterator[Finding]:
    """What the text alone says of accesses without a whole mask, one reason for a kernel.

    A mask that is written as None was left out on purpose.
    """
    bare = [a for a in accesses if _omits(a)]
    found = list[Finding]()
    for reason in (_unlike_any, with_unused_mask, on_rounded_grid):
        found = found or list(reason(module, kernel, flow, bare))
    if not found and "load" in kinds:
        found = list(past_rounded_end(module, kernel, flow))
    masked = [a for a in flow.accesses if a.kind in kinds and not a.branches]
    found = found or list(past_one_axis(module, kernel, flow, masked))
    found = found or list(open_above(module, kernel, flow, masked))
    if "load" in kinds:
        for further in (local_index, unchecked_blocks, before_first):
            found = found or list(further(module, kernel, flow))
    found = found or list(in_a_loop_of_blocks(module, kernel, flow, bare))
    yield from found or outside(module, kernel, kinds)
    if "load" in kinds:
        yield from across_a_loop_of_blocks(module, kernel, flow)


def _omits(access: Access) -> bool:
    given = [*access.node.args, *(k.value for k in access.node.keywords)]
    return not any(isinstance(node, ast.Constant) and node.value is None for node in given)


def _unlike_any(
    module: Module, kernel: Kernel, flow: Flow, accesses: list[Access]
) -> Iterator[Finding]:
    for access in accesses:
        yield from _unlike_others(module, kernel, flow, access)


def _is_bare(access: Access) -> bool:
    """Whether it always runs, with no mask or check of its own."""
    options = [k.arg for k in access.node.keywords]
    return (
        access.mask is None
        and not access.branches
        and "boundary_check" not in options
        and None not in options
    )


def _returns_early(kernel: Kernel) -> bool:
    body = kernel.node.body
    return any(n is not body[-1] for n in nodes_like(kernel.node, ast.Return))


def _outside(access: Access, launch: LaunchFacts) -> tuple[str, int, int] | None:
    """(tensor, reached offset, last offset) of an access that leaves its tensor for sure."""
    tensor = None if access.base is None else launch.argument(access.base)
    last = None if tensor is None else greatest_offset(tensor)
    offsets = None if tensor is None else exact_offsets(access.pointer, tensor.name)
    if tensor is None or last is None or offsets is None:
        return None
    reached = reach_of(offsets, access.mask, Numbers.of_launch(launch))
    return (tensor.name, reached, last) if reached is not None and reached > last else None


def _outside_finding(
    module: Module, kernel: Kernel, access: Access, tensor: str, reached: int, last: int
) -> Finding:
    return Finding(
        module.index.range_of(access.node),
        f"Without a mask this {access.kind} reaches offset {reached:,} of {tensor}, whose last "
        f"element is at {last:,}.",
        kernel.name,
    )


def _unlike_others(module: Module, kernel: Kernel, flow: Flow, access: Access) -> Iterator[Finding]:
    """Another access masks offsets of which this one goes through all."""
    if access.base is None:
        return
    indices = set(additive_parts(access.pointer))
    for other in flow.accesses:
        if other.mask is None or other.base is None or other is access:
            continue
        bounded = next((b for b in upper_bounds(other.mask) if b[0] in indices), None)
        if bounded is not None and bounded[0] in set(additive_parts(other.pointer)):
            index, bound = bounded
            is_below = _stays_below(flow, index) or is_in_whole_blocks(index, bound, flow)
            if is_below or _picks_lanes(module, kernel, index, bound):
                continue
            if _is_selection(flow, access, index, bound) or _keeps_first(access, other):
                continue
            is_other_axis = is_along_another_axis(access.pointer, other.pointer, index, bound)
            if is_other_axis or _walks_whole_blocks(flow, access, other, index):
                continue
            if _takes_whole_blocks(module, kernel, index, bound):
                continue
            if has_room(module, kernel, access.base, access.pointer, index):
                return
            is_dropped = _is_dropped(flow, access, other)
            finding = _unlike_finding(module, kernel, access, other, bound, is_dropped)
            yield replace(finding, severity=ADVICE) if _adds_zero(flow, access) else finding
            return


def _takes_whole_blocks(module: Module, kernel: Kernel, index: Value, bound: Value) -> bool:
    """Whether an extent is said to be whole blocks, or what is left of it has no program."""
    if bound.op == "param" and is_stated_multiple(module, kernel, str(bound.detail)):
        return True
    axes = {part.detail for part in walk(index) if part.op == "program_id"}
    lengths = {part.operands[1] for part in walk(index) if part.op == "arange"}
    if len(lengths) == 1 and is_whole_at_launches(module, kernel, bound, next(iter(lengths))):
        return True
    if bound.op != "param" or len(axes) > 1 or len(lengths) != 1:
        return False
    axis = next(iter(axes), None)
    block = str(next(iter(lengths)).detail)
    known = axis if isinstance(axis, int) else None
    return is_cut_to_whole_blocks(module, kernel, known, str(bound.detail), block)


def _adds_zero(flow: Flow, access: Access) -> bool:
    """Whether an atomic adds ``tl.where(inside, x, 0.0)``: what it reaches past the end stays."""
    added = flow.values.get(access.node.args[1]) if len(access.node.args) > 1 else None
    if access.kind != "atomic" or added is None or not added.is_call(TL + "where"):
        return False
    return len(added.positional) == 3 and added.positional[2].detail == 0


def _picks_lanes(module: Module, kernel: Kernel, index: Value, bound: Value) -> bool:
    """Whether a bound picks a part of the one tile that there is: a number, or part of its length.

    ``arange(0, B) < B - 1``, ``arange(0, B) < B // 2``, ``arange(0, 32) // 3 < 8``: nothing there
    is a tensor's extent. Of several tiles in a row, one for each program or turn, a number may end
    the last.
    """
    if any(_is_block_start(part) for part in walk(index)):
        return False
    lengths = {part.operands[1] for part in walk(index) if part.op == "arange"}
    leaves = [
        part for part in values_within(bound, lambda v: v not in lengths) if not part.operands
    ]
    return all(
        part in lengths or part.op == "const" or _is_number_at_launches(module, kernel, part)
        for part in leaves
    )


def _is_block_start(part: Value) -> bool:
    """A program's number, or the index of a loop in steps of more than one."""
    if part.op == "loop_index":
        return len(part.operands) != 3 or not part.operands[2].is_const(1)
    return part.op == "program_id"


def _is_number_at_launches(module: Module, kernel: Kernel, bound: Value) -> bool:
    """Whether it is a parameter that each launch of the file writes a number for."""
    launches = module.launches_of(kernel.name)
    given = [launch.arguments.get(str(bound.detail)) for launch in launches]
    is_written = all(isinstance(node, ast.Constant) for node in given)
    return bound.op == "param" and bool(given) and is_written


def _stays_below(flow: Flow, index: Value) -> bool:
    """Whether a loop in blocks ends before the program's own block, or with the last full one.

    ``for start in range(0, pid * B, B)`` or ``range(0, n // B * B, B)``: the lanes
    ``start + arange(0, B)`` stay below the end that the loop states.
    """
    parts = [_counted(part) for sums in _sums(index) for part in sums]
    turns = {part.detail for part in parts if part.op == "loop_index"}
    loops = [loop for number, loop in flow.loops.items() if number in turns]
    lengths = [part.operands[1] for part in parts if part.op == "arange"]
    bounds = loops[0].bounds if len(loops) == 1 else None
    if bounds is None or len(lengths) != 1:
        return False
    _, stop, step = bounds
    if step is not lengths[0] or not stop.is_binary("Mult") or step not in stop.operands:
        return False
    count = stop.operands[0] if stop.operands[1] is step else stop.operands[1]
    count = unexpanded(count)
    return count.op == "program_id" or (count.is_binary("FloorDiv") and count.operands[1] is step)


def _is_selection(flow: Flow, access: Access, index: Value, bound: Value) -> bool:
    """Whether another access walks the same lanes under a mask that leaves them all in.

    Then the bound picks lanes (half of a head, the rotated columns) and is no tensor's end. Nor is
    it where the mask leaves out nothing, as ``x % n < n``.
    """
    if index.is_binary("Mod") and unexpanded(index.operands[1]) is bound:
        return True
    return any(
        other is not access
        and other.mask is not None
        and index in set(additive_parts(other.pointer))
        and not any(part is index for part in walk(other.mask))
        for other in flow.accesses
    )


def _keeps_first(access: Access, other: Access) -> bool:
    """Whether the other one stores the first elements of what this one loads, sorted."""
    if other.kind != "store" or other.result is None or access.result is None:
        return False
    ordered = (part for part in walk(other.result) if part.is_call(*_ORDERS))
    return any(inner is access.result for part in ordered for inner in walk(part))


def _walks_whole_blocks(flow: Flow, access: Access, other: Access, index: Value) -> bool:
    """Whether the access runs in a loop of its own over the axis that the other ends.

    ``for start in range(0, n - n % B, B): load(x + start + cols)``, and what is left under a
    mask after the loop: the loop's bounds keep its lanes inside.
    """
    own = set(access.loops) - set(other.loops)
    return any(
        index in addends
        and any(part.op == "loop_index" and part.detail in own for part in map(_counted, addends))
        for addends in _sums(access.pointer)
    )


def _sums(pointer: Value) -> Iterator[list[Value]]:
    """The addends of each sum in an address, axes left aside."""
    for value in walk(pointer):
        if value.is_binary("Add"):
            pending, found = [value], list[Value]()
            while pending:
                part = unexpanded(pending.pop())
                if part.is_binary("Add"):
                    pending.extend(part.operands)
                else:
                    found.append(part)
            yield found


def _counted(addend: Value) -> Value:
    """The loop index in ``start`` or ``turn * B`` with a B fixed when the kernel is built."""
    if addend.is_binary("Mult"):
        for one, two in (addend.operands, addend.operands[::-1]):
            if one.op == "loop_index" and two.op in ("const", "param"):
                return one
    return addend


def _unlike_finding(
    module: Module, kernel: Kernel, access: Access, other: Access, bound: Value, is_dropped: bool
) -> Finding:
    what = {"load": "reads", "store": "writes", "atomic": "updates"}[access.kind]
    is_loaded = any(part.op == "load" for part in walk(bound))
    end = (
        f"the bound, which is loaded, unless {access.base} has room there"
        if is_loaded
        else f"the end of {access.base}"
    )
    dropped = ", though none of it is stored" if is_dropped else ""
    return Finding(
        module.index.range_of(access.node),
        f"The {other.kind} on line {other.node.lineno} masks these offsets and this {access.kind} "
        f"does not: it {what} the memory past {end}{dropped}.",
        kernel.name,
        severity=ADVICE if is_loaded or is_dropped else None,
    )


def _is_dropped(flow: Flow, access: Access, other: Access) -> bool:
    """Whether what a load reads past the end is not stored: it harms where no memory follows.

    The store has the same index, so that a product is not summed over it; a reduction may be.
    """
    if access.kind != "load" or other.kind != "store":
        return False
    return not any(access.result in set(walk(value)) for _, value, _ in flow.calls(*_ACROSS_LANES))
