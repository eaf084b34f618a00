"""Accesses whose mask leaves an end open: below the first element, above the last, of a block."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL
from tilewright.analysis.detectors.correctness.divisibility import is_stated_multiple
from tilewright.analysis.detectors.correctness.grids import block_of
from tilewright.analysis.detectors.correctness.index_steps import kernel_sizes
from tilewright.analysis.detectors.correctness.masks import (
    additive_parts,
    is_all_bounds,
    terms,
    unexpanded,
    upper_bounds,
)
from tilewright.analysis.host_sizes import quotients
from tilewright.analysis.model import Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Access, Flow, Value, values_within, walk
from tilewright.knowledge.model import ADVICE
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Launch, Module

_MAKES_BLOCK = TL + "make_block_ptr"


def arms(kernel: Kernel) -> set[ast.AST]:
    """What runs in one case alone: ``load(x) if EVEN else load(x, mask)``."""
    choices = nodes_like(kernel.node, ast.IfExp)
    return {node for c in choices for arm in (c.body, c.orelse) for node in ast.walk(arm)}


def before_first(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """An offset that is below 0 in the first lane of the first program."""
    launches = module.launches_of(kernel.name)
    chosen = arms(kernel)
    for access in flow.accesses:
        if access.branches or access.base is None or access.node in chosen:
            continue
        if access.mask is not None and not is_all_bounds(access.mask):
            continue
        least = _least(access.pointer, access.base)
        if least is None or least >= 0 or any(_may_be_moved(module, x, access) for x in launches):
            continue
        yield Finding(
            module.index.range_of(access.node),
            f"The first lane of the first program is at an offset below 0 here, and the mask does "
            f"not leave it out: this {access.kind} takes what lies before {access.base}.",
            kernel.name,
            severity=None if launches else ADVICE,
        )
        return


def _least(pointer: Value, base: str) -> int | None:
    """What an offset is where all indices are at their first values; only its sign is exact."""
    known: dict[Value, int | None] = {}
    # Operands come first: of a value that many use it is asked once, however long the chain is.
    for value in sorted(values_within(pointer, _has_least), key=lambda value: value.order):
        known[value] = _least_of(value, base, known)
    return known[pointer]


def _has_least(value: Value) -> bool:
    is_index = value.op in ("expand", "cast", "arange", "loop_index")
    return is_index or value.is_binary("Add", "Sub", "Mult")


def _least_of(value: Value, base: str, known: dict[Value, int | None]) -> int | None:
    match value.op:
        case "const":
            return value.detail if type(value.detail) is int else None
        case "param":
            return 0 if value.detail == base else None
        case "program_id":
            return 0
        case "expand" | "cast" | "arange" | "loop_index":
            return known[value.operands[0]] if value.operands else None
    if not _has_least(value):
        return None
    one, two = (known[operand] for operand in value.operands)
    if value.detail == "Mult":
        return _least_product(one, two)
    if one is None or two is None:
        return None
    return one + two if value.detail == "Add" else one - two


def _least_product(one: int | None, two: int | None) -> int | None:
    """Strides are above 0: a product with one that is open keeps the sign of the other."""
    if one is None or two is None:
        known = two if one is None else one
        return None if known is None else (known > 0) - (known < 0)
    return one * two


def _may_be_moved(module: Module, launch: Launch, access: Access) -> bool:
    """Whether a launch may pass a tensor that begins behind the start of its memory."""
    given = launch.arguments.get(access.base or "")
    if given is None:
        return True
    value = resolve(module, launch, given)
    return any(isinstance(node, ast.Subscript | ast.BinOp) for node in ast.walk(value))


def open_above(
    module: Module, kernel: Kernel, flow: Flow, accesses: list[Access]
) -> Iterator[Finding]:
    """A mask that keeps a block's offsets above something, where others keep them below the end."""
    ends = {
        index: other
        for other in flow.accesses
        if other.mask is not None
        for index, _ in upper_bounds(other.mask)
        if block_of(index) is not None
    }
    for access in accesses if ends else ():
        if access.mask is None or access.base is None:
            continue
        for index in additive_parts(access.pointer):
            if index in ends and _is_only_above(access.mask, index):
                other = ends[index]
                yield Finding(
                    module.index.range_of(access.node),
                    f"The mask keeps these offsets above something and below nothing, where the "
                    f"{other.kind} on line {other.node.lineno} ends them: in a block that is not "
                    f"full this {access.kind} leaves {access.base}.",
                    kernel.name,
                    related=(Related("ended here", module.index.range_of(other.node)),),
                )
                return


def _is_only_above(mask: Value, index: Value) -> bool:
    """Whether a mask compares an index, or its program, only as the greater side."""
    own = {index, *(v for v in walk(index) if v.op in ("program_id", "arange"))}
    asked = False
    for term in terms(mask):
        compare = unexpanded(term)
        if not own & set(walk(compare)):
            continue
        if compare.op != "compare" or compare.detail not in ("Gt", "GtE", "Lt", "LtE"):
            return False
        great, less = (unexpanded(v) for v in compare.operands)
        if compare.detail in ("Lt", "LtE"):
            great, less = less, great
        if great is not index or own & set(values_within(less, lambda v: v.op != "load")):
            return False
        asked = True
    return asked


def local_index(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """``arange(0, B) < N`` for an address that also moves on by ``pid * B`` of N."""
    is_known = len(module.lookup.named[kernel.name]) == 1
    for launch in module.launches_of(kernel.name) if is_known else ():
        masked = [a for a in flow.accesses if a.mask is not None and not a.branches]
        bare = [a for a in masked if a.mask is not None and _bounds_lanes(a.mask)]
        sizes = kernel_sizes(module, kernel, launch) if bare else None
        for access in bare if sizes is not None else ():
            found = sizes.steps(access) if sizes is not None else None
            if sizes is None or found is None:
                continue
            for step in found[0]:
                if step.index.op != "arange" or not step.is_masked:
                    continue
                for other in found[0]:
                    counts = () if other.extent is None else quotients(sizes.host, other.extent)
                    is_block = other.index.op == "program_id"
                    is_block = is_block and other.stride == step.stride * step.block
                    if is_block and ("cdiv", step.extent, step.block) in counts:
                        yield Finding(
                            module.index.range_of(access.node),
                            "The mask compares the position within a block with the whole extent, "
                            "and the address has moved on by the blocks before: the last block is "
                            f"not cut off, and this {access.kind} leaves {access.base}.",
                            kernel.name,
                            related=(Related("launched here", launch.range),),
                        )
                        return


def _bounds_lanes(mask: Value) -> bool:
    """Whether a mask bounds the position within a block."""
    return any(index.op == "arange" for index, _ in upper_bounds(mask))


def unchecked_blocks(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """A block pointer without ``boundary_check`` of what another of the same blocks checks."""
    checked: list[tuple[Access, Value, tuple[int, ...]]] = []
    bare: list[tuple[Access, Value]] = []
    for access in flow.accesses:
        made = _block_pointer_call(access.pointer)
        given = next((k.value for k in access.node.keywords if k.arg == "boundary_check"), None)
        if made is None:
            continue
        if (
            given is None
            and not access.branches
            and not any(k.arg is None for k in access.node.keywords)
        ):
            bare.append((access, made))
        elif given is not None:
            places = [n.value for n in ast.walk(given) if isinstance(n, ast.Constant)]
            checked.append((access, made, tuple(p for p in places if type(p) is int)))
    for access, made in bare:
        for other, like, axes in checked:
            axis = next((a for a in axes if _is_same_block(made, like, a)), None)
            if axis is None or _has_whole_blocks(module, kernel, made, axis):
                continue
            if not _goes_over_whole_blocks(flow, access, made, axis):
                yield Finding(
                    module.index.range_of(access.node),
                    f"The {other.kind} on line {other.node.lineno} checks dimension {axis} of the "
                    f"same blocks and this {access.kind} has no boundary_check: it leaves the "
                    "tensor where a block is not full.",
                    kernel.name,
                    related=(Related("checked here", module.index.range_of(other.node)),),
                )
                return


def _has_whole_blocks(module: Module, kernel: Kernel, made: Value, axis: int) -> bool:
    """Whether the host asserts that a dimension is a multiple of the block's length."""
    extent, length = _part(made, "shape", 1, axis), _part(made, "block_shape", 4, axis)
    if extent is None or length is None or extent.op != "param" or length.op != "param":
        return False
    return is_stated_multiple(module, kernel, str(extent.detail), str(length.detail))


def _goes_over_whole_blocks(flow: Flow, access: Access, made: Value, axis: int) -> bool:
    """Whether a loop around an access runs up to how many whole blocks there are of a dimension."""
    extent, length = _part(made, "shape", 1, axis), _part(made, "block_shape", 4, axis)
    ends = [bounds[1] for n in access.loops if (bounds := flow.loops[n].bounds) is not None]
    return any(
        end.is_binary("FloorDiv") and end.operands[0] is extent and end.operands[1] is length
        for end in ends
    )


def _block_pointer_call(pointer: Value) -> Value | None:
    """The call that made a block pointer which nothing has moved."""
    return pointer if pointer.is_call(_MAKES_BLOCK) else None


def _is_same_block(one: Value, two: Value, axis: int) -> bool:
    """Whether extent, offset and length of two blocks are the same along a dimension."""
    for name, place in (("shape", 1), ("offsets", 3), ("block_shape", 4)):
        parts = [_part(made, name, place, axis) for made in (one, two)]
        if parts[0] is None or parts[0] is not parts[1]:
            return False
    return _part(one, "shape", 1, axis) is not _part(one, "block_shape", 4, axis)


def _part(made: Value, name: str, place: int, axis: int) -> Value | None:
    whole = made.keyword(name)
    if whole is None and place < len(made.positional):
        whole = made.positional[place]
    if whole is None or whole.op != "tuple" or not 0 <= axis < len(whole.operands):
        return None
    return whole.operands[axis]
