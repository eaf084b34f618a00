"""The number of programs that a launch states along each axis of its grid."""

import ast
from typing import TypeGuard

from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Launch, Module

_BOUNDED = ("multi_processor_count", "num_sm", "nsm", "sm_count", "num_cu", "split", "num_programs")

_UNBOUNDED = frozenset({"cdiv", "len", "numel", "size", "max", "prod", "int", "stride", "dim"})


def stated_axes(module: Module, launch: Launch) -> list[ast.expr] | None:
    """What a launch's grid states for each axis; None where it is no tuple."""
    grid = resolve(module, launch, launch.grid)
    if isinstance(grid, ast.Lambda):
        grid = grid.body
    return grid.elts if isinstance(grid, ast.Tuple | ast.List) else None


def grid_extents(module: Module, launch: Launch) -> tuple[ast.expr, ...]:
    """The expressions of a launch's grid, one for each axis; () where it is no tuple."""
    axes = stated_axes(module, launch) or ()
    return tuple(resolve(module, launch, extent) for extent in axes)


def is_one_program(module: Module, launch: Launch) -> bool:
    """Whether each axis of the grid is the literal 1."""
    extents = grid_extents(module, launch)
    return bool(extents) and all(_number(extent) == 1 for extent in extents)


def grows_with_the_problem(module: Module, kernel: Kernel, launch: Launch, axis: int) -> bool:
    """Whether the extent of an axis follows the size of a tensor, without a bound in the text."""
    extents = grid_extents(module, launch)
    if axis >= len(extents):
        return False
    extent = extents[axis]
    if _number(extent) is not None:
        return False
    names = {n.id for n in ast.walk(extent) if isinstance(n, ast.Name)}
    texts = {_text(n) for n in ast.walk(extent)} | {str(a) for a in names}
    if any(mark in text.lower() for text in texts for mark in _BOUNDED):
        return False
    if _is_cdiv(extent) and _is_cdiv(resolve(module, launch, extent.args[0])):
        # Blocks of blocks: what remains of a partial result.
        return False
    calls = {_text(n.func) for n in ast.walk(extent) if isinstance(n, ast.Call)}
    # What another function makes of a size may have a bound.
    return calls <= _UNBOUNDED and not names & set(kernel.constexprs)


def _is_cdiv(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and _text(node.func) == "cdiv" and bool(node.args)


def multiplies_the_units(module: Module, kernel: Kernel, launch: Launch, axis: int) -> bool:
    """Whether the extent of an axis is several times the compute units of the chip: hundreds."""
    extents = grid_extents(module, launch)
    extent = extents[axis] if axis < len(extents) else None
    if not isinstance(extent, ast.BinOp) or not isinstance(extent.op, ast.Mult):
        return False
    parts = [resolve(module, launch, part) for part in (extent.left, extent.right)]
    several = any((_number(part) or 0) > 1 for part in parts)
    return several and any(_counts_units(part) for part in parts)


def _counts_units(extent: ast.expr) -> bool:
    return any("multi_processor_count" in _text(node) for node in ast.walk(extent))


def _text(node: ast.AST) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.Constant():
            return str(node.value)
    return ""


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None
