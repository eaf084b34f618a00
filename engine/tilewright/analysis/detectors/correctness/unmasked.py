"""Accesses of blocks that no mask of the kernel ends, with a mask of other lanes or with none."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL
from tilewright.analysis.detectors.correctness.divisibility import (
    is_whole_at_launches,
    states_divisibility,
)
from tilewright.analysis.detectors.correctness.grids import block_of, rounded_up
from tilewright.analysis.detectors.correctness.masks import additive_parts, unexpanded, upper_bounds
from tilewright.analysis.detectors.program_counts import grid_extents
from tilewright.analysis.model import Finding
from tilewright.analysis.values import Access, Flow, Value, walk
from tilewright.knowledge.model import ADVICE
from tilewright.source.host import host_of, last_assigned, resolve
from tilewright.source.model import Kernel, Launch, Module

_SIZES = ("numel", "size", "nelement")
_FLAGS = ("EVEN", "DIVIS", "ALIGN", "MASK", "CHECK", "PAD")
"""What constexprs are called that say whether blocks are whole."""
_WHOLE = ("pad", "round", "align")


def with_unused_mask(
    module: Module, kernel: Kernel, flow: Flow, accesses: list[Access]
) -> Iterator[Finding]:
    """Accesses of offsets for which the kernel builds a mask that nothing uses."""
    unused = {
        index: name
        for name, definitions in (flow.definitions.items() if accesses else ())
        if name not in flow.uses and len(definitions) == 1
        for index, _ in upper_bounds(definitions[0].value)
    }
    for access in accesses if unused else ():
        parts = set(additive_parts(access.pointer))
        index = next((i for i in unused if i in parts), None)
        block = None if index is None else block_of(index)
        is_whole = block is not None and _is_rounded_down(module, kernel, block[0])
        if index is not None and access.base is not None and not is_whole:
            name = unused[index]
            line = flow.definitions[name][0].statement.lineno
            yield Finding(
                module.index.range_of(access.node),
                f"{name} on line {line} bounds these offsets and nothing uses it: this "
                f"{access.kind} leaves {access.base} where a block is not full.",
                kernel.name,
            )


def _is_rounded_down(module: Module, kernel: Kernel, axis: int) -> bool:
    """Whether each launch has a program for whole blocks alone: ``n // B`` of them."""
    launches = module.launches_of(kernel.name)
    counts = [extents[axis : axis + 1] for x in launches if (extents := grid_extents(module, x))]
    return len(counts) == len(launches) > 0 and all(
        isinstance(count, ast.BinOp)
        and isinstance(count.op, ast.FloorDiv)
        and not isinstance(count.left, ast.BinOp)
        for found in counts
        for count in found or (None,)
    )


def on_rounded_grid(
    module: Module, kernel: Kernel, flow: Flow, accesses: list[Access]
) -> Iterator[Finding]:
    """The first access of blocks whose count the host rounds up, where nothing is masked."""
    if not accesses or not module.launches_of(kernel.name):
        return
    bounded = {i for a in flow.accesses if a.mask is not None for i, _ in upper_bounds(a.mask)}
    for access in accesses:
        for index in additive_parts(access.pointer):
            found = None if index in bounded else block_of(index)
            if found is None or access.base is None:
                continue
            extent = _rounded_extent(module, kernel, *found)
            if extent is not None:
                yield Finding(
                    module.index.range_of(access.node),
                    f"The grid rounds {extent} / {found[1]} up, nothing in this file makes "
                    f"{extent} a multiple of {found[1]}, and this {access.kind} has no mask: the "
                    f"last program leaves {access.base}, unless callers pass whole blocks only.",
                    kernel.name,
                    severity=ADVICE,
                )
                return


def past_one_axis(
    module: Module, kernel: Kernel, flow: Flow, accesses: list[Access]
) -> Iterator[Finding]:
    """The first access whose mask bounds some blocks of its address and leaves out others.

    The count of the blocks left out is rounded up at every launch.
    """
    ids = {v.detail for v in flow.values.values() if v.op == "program_id"}
    if len(ids) < 2 or not module.launches_of(kernel.name):
        return
    for access in accesses:
        mask = access.mask
        if mask is None or access.base is None or next(upper_bounds(mask), None) is None:
            continue
        asked = set(walk(mask))
        for index in additive_parts(access.pointer):
            found = block_of(index)
            if found is None or _is_counted(index, asked):
                continue
            extent = _rounded_extent(module, kernel, *found)
            if extent is not None:
                yield Finding(
                    module.index.range_of(access.node),
                    f"The mask does not bound the offsets along axis {found[0]} of the grid, which "
                    f"rounds {extent} / {found[1]} up: this {access.kind} leaves {access.base}, or "
                    "enters its next row.",
                    kernel.name,
                )
                return


def in_a_loop_of_blocks(
    module: Module, kernel: Kernel, flow: Flow, accesses: list[Access]
) -> Iterator[Finding]:
    """An access without a mask in ``range(0, n, B)``, where the kernel masks its other extents."""
    free = {p.name for p in kernel.parameters if not p.is_constexpr}
    for access in accesses if _is_ragged(kernel, flow) else ():
        for extent, _ in _walked_extents(access):
            is_open = extent.detail in free and not states_divisibility(module, kernel)
            if is_open and access.base is not None:
                yield Finding(
                    module.index.range_of(access.node),
                    f"{_of_the_loop(extent)}, and this {access.kind} has no mask: the last "
                    f"iteration leaves {access.base}, or enters its next row.",
                    kernel.name,
                    severity=ADVICE,
                )
                return


def across_a_loop_of_blocks(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """An access in ``range(0, n, B)`` with a mask of other lanes, where none of the kernel asks n.

    What another access ends may be zero where this one is not ended.
    """
    masks = [a.mask for a in flow.accesses if a.mask is not None]
    for access in flow.accesses if _is_ragged(kernel, flow) else ():
        if access.mask is None or access.branches or access.base is None:
            continue
        for extent, block in _walked_extents(access):
            is_asked = any(extent in walk(mask) for mask in masks) or is_whole_at_launches(
                module, kernel, extent, block
            )
            if is_asked or states_divisibility(module, kernel):
                continue
            yield Finding(
                module.index.range_of(access.node),
                f"{_of_the_loop(extent)}, and the mask of this {access.kind} is of other lanes: "
                f"the last iteration leaves {access.base}, or enters its next row.",
                kernel.name,
            )
            return


def _of_the_loop(extent: Value) -> str:
    name = extent.detail
    return (
        f"The loop takes {name} in whole blocks, nothing in this file makes {name} a multiple of "
        "them"
    )


def _is_ragged(kernel: Kernel, flow: Flow) -> bool:
    """Whether some mask ends at an extent of a launch, and no flag says that blocks are whole."""
    if any(word in name.upper() for name in kernel.constexprs for word in _FLAGS):
        return False
    free = {p.name for p in kernel.parameters if not p.is_constexpr}
    ends = (b for a in flow.accesses if a.mask is not None for _, b in upper_bounds(a.mask))
    return any(end.op == "param" and end.detail in free for end in ends)


def _walked_extents(access: Access) -> Iterator[tuple[Value, Value]]:
    """n and B of ``start + arange(0, B)``, where a loop takes n in blocks of B from 0 on."""
    for index in additive_parts(access.pointer):
        for one, two in (index.operands, index.operands[::-1]) if index.is_binary("Add") else ():
            start, lanes = unexpanded(one), unexpanded(two)
            block = lanes.operands[1] if lanes.op == "arange" else None
            if block is not None and block.op == "param":
                extent = _extent_of_loop(start, block)
                if extent is not None and extent.op == "param" and extent is not block:
                    yield extent, block


def _extent_of_loop(start: Value, block: Value) -> Value | None:
    """n of ``range(0, n, B)``, or of ``turn * B`` in ``range(0, cdiv(n, B))``."""
    turn = next((v for v in start.operands if v is not block), start)
    is_counted = start.is_binary("Mult") and block in start.operands
    loop = turn if is_counted else start
    if loop.op != "loop_index" or len(loop.operands) != 3 or not loop.operands[0].is_const(0):
        return None
    _, stop, step = loop.operands
    if not is_counted:
        return stop if step is block else None
    is_rounded = step.is_const(1) and stop.is_call(f"{TL}cdiv") and len(stop.positional) == 2
    return stop.positional[0] if is_rounded and stop.positional[1] is block else None


def _is_counted(index: Value, asked: set[Value]) -> bool:
    """Whether a mask asks anything of a block's offsets, or of the program that has them."""
    return index in asked or any(v.op == "program_id" and v in asked for v in walk(index))


def _rounded_extent(module: Module, kernel: Kernel, axis: int, block: str) -> str | None:
    """The extent that every launch divides by the block, rounding up; None if it may be whole."""
    launches = module.launches_of(kernel.name)
    if not launches or states_divisibility(module, kernel):
        return None
    found = [_extent_at(module, launch, axis, block) for launch in launches]
    return found[0] if all(found) else None


def _extent_at(module: Module, launch: Launch, axis: int, block: str) -> str | None:
    host = host_of(module, launch)
    given = launch.arguments.get(block)
    if host is None or _says_padding(host) or (given is not None and _is_one(given)):
        return None
    for at, call, _ in rounded_up(module, launch):
        if at == axis:
            extent = call.args[0]
            is_whole = given is not None and ast.dump(given) == ast.dump(extent)
            is_open = not is_whole and is_open_extent(module, launch, extent)
            return ast.unparse(extent) if is_open else None
    return None


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def is_open_extent(module: Module, launch: Launch, extent: ast.expr) -> bool:
    """Whether an extent is a size of a tensor, or made of such and nothing that rounds.

    What a function without parameters, or a test, gives its kernels is its own choice.
    """
    host = host_of(module, launch)
    if host is not None and _chooses_sizes(host):
        return False
    value = resolve(module, launch, extent)
    if isinstance(value, ast.Name):
        found = last_assigned(module, launch, value.id)
        value = value if found is None else found.value
    if module.names.is_call(value, "triton.cdiv") and isinstance(value, ast.Call) and value.args:
        # A count of blocks is no multiple of anything either.
        return is_open_extent(module, launch, value.args[0])
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    sizes = [c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr in _SIZES]
    is_shape = any(isinstance(n, ast.Attribute) and n.attr == "shape" for n in ast.walk(value))
    return len(sizes) == len(calls) and (is_shape or bool(sizes))


def _chooses_sizes(host: ast.FunctionDef) -> bool:
    given = host.args
    takes = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return host.name.startswith("test_") or not any(takes)


def _says_padding(host: ast.FunctionDef) -> bool:
    """Whether names of a function say that extents are whole blocks."""
    names = (
        n.id if isinstance(n, ast.Name) else n.attr if isinstance(n, ast.Attribute) else ""
        for n in ast.walk(host)
    )
    return any(says_whole(name) for name in (host.name, *names))


def says_whole(name: str) -> bool:
    """Whether a name says that what it stands for was rounded up to whole blocks."""
    return any(word in name.lower() for word in _WHOLE)
