"""Grouped program order for tiled matrix products.

Programs that run at the same time then share rows of one operand and columns of the other,
so that more of what they read is still in the second-level cache.
"""

import ast
from dataclasses import dataclass

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.rewrites.calls import append_keywords, append_parameter, fresh_name, local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.grid import WrittenGrid, division, meta_key, written_grid
from tilewright.rewrites.model import Numerics, RefusedError, accepted, rewrite
from tilewright.rewrites.scope import (
    argument,
    is_tl_call,
    kernel_named,
    literal_int,
    names_in,
    only_value,
    same,
    statements,
    uses,
)
from tilewright.rewrites.tiles import current_value, extents, tile_roles
from tilewright.source.model import Kernel, Launch, Module

GROUP = 8
"""Rows of tiles a group holds: the tutorials' value, which the tuner may change."""


@dataclass(frozen=True)
class _Axis:
    """One axis of the grid: the kernel's name for it, its block and the block's extent."""

    statement: ast.Assign
    name: str
    block: str
    extent: str


@dataclass(frozen=True)
class _Plan:
    kernel: Kernel
    launch: Launch
    grid: WrittenGrid
    rows: _Axis
    columns: _Axis


@rewrite("no_swizzling", "Visit tiles in groups that share the cache", Numerics.EXACT)
def group_programs(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = kernel_named(module, issue)
    plan = _plan(module, kernel)
    patch = Patch(module)
    taken = names_in(kernel.node) | {p.name for p in kernel.parameters}
    group = fresh_name(taken, "GROUP_M")
    annotation = next((a.annotation for a in kernel.node.args.args if a.annotation), None)
    constexpr = patch.source(annotation) if annotation else local_name(module, _CONSTEXPR)
    default = f" = {GROUP}" if kernel.node.args.defaults else ""
    if not append_parameter(patch, kernel.node, f"{group}: {constexpr}{default}"):
        raise RefusedError("the kernel's signature has no plain place for one more parameter")
    if not _recompute_ids(module, plan, patch, taken, group):
        raise RefusedError("a program id shares its line with another statement")
    _flatten_grid(plan, patch)
    append_keywords(patch, plan.launch.node, [f"{group}={GROUP}"])
    patch.fold(plan.launch.node)
    return patch.apply()


_CONSTEXPR = "triton.language.constexpr"


def _plan(module: Module, kernel: Kernel) -> _Plan:
    launches = module.launches_of(kernel.name)
    if len(launches) != 1 or not launches[0].is_complete:
        raise RefusedError(f"{kernel.name} needs one launch that shows all its arguments")
    axes = _axes(module, kernel)
    grid = accepted(written_grid(module, launches[0]))
    if len(grid.axes) != 2:
        raise RefusedError(f"the grid has {len(grid.axes)} axes, not two")
    for axis, expression in zip(axes, grid.axes, strict=True):
        if not _counts_tiles(module, kernel, launches[0], grid, expression, axis):
            raise RefusedError(f"the grid does not show how many tiles of {axis.block} there are")
    rows = 0 if axes[0].block == tile_roles(module, kernel).get("m") else 1
    return _Plan(kernel, launches[0], grid, axes[rows], axes[1 - rows])


def _axes(module: Module, kernel: Kernel) -> tuple[_Axis, _Axis]:
    ids = [n for n in ast.walk(kernel.node) if is_tl_call(module, n, "program_id", "num_programs")]
    found: dict[int, _Axis] = {}
    roles = tile_roles(module, kernel)
    if "group" in roles:
        raise RefusedError("the kernel groups its programs already")
    blocks = extents(module, kernel)
    for statement in statements(kernel.node):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                pass
            case _:
                continue
        axis = literal_int(argument(call, 0, "axis"))
        if not is_tl_call(module, call, "program_id") or axis is None:
            continue
        block = _only_scale(kernel, name)
        if block is None or only_value(kernel.node, name) is None:
            raise RefusedError(f"{name} is used for more than finding its tile")
        if block not in blocks:
            raise RefusedError(f"what {block} tiles is not clear from the kernel's masks")
        found[axis] = _Axis(statement, name, block, blocks[block])
    if len(ids) != 2 or set(found) != {0, 1}:
        raise RefusedError("the kernel does not take its tile from program_id(0) and program_id(1)")
    if {found[0].block, found[1].block} != {roles.get("m"), roles.get("n")}:
        raise RefusedError("the two program ids do not number the rows and columns of a product")
    return found[0], found[1]


def _only_scale(kernel: Kernel, name: str) -> str | None:
    """The block that every use of a program id is multiplied by."""
    blocks: set[str] = set()
    scaled: set[int] = set()
    for node in ast.walk(kernel.node):
        match node:
            case ast.BinOp(left=ast.Name(id=a) as x, op=ast.Mult(), right=ast.Name(id=b) as y):
                if name in (a, b):
                    blocks.add(b if a == name else a)
                    scaled.update((id(x), id(y)))
    every = uses(kernel.node, name)
    only = blocks.pop() if len(blocks) == 1 else None
    return only if all(id(use) in scaled for use in every) else None


def _counts_tiles(
    module: Module,
    kernel: Kernel,
    launch: Launch,
    grid: WrittenGrid,
    expression: ast.expr,
    axis: _Axis,
) -> bool:
    if isinstance(expression, ast.Name):
        expression = only_value(grid.scope, expression.id) or expression
    d = division(module, expression)
    extent = launch.arguments.get(axis.extent)
    if d is None or extent is None or not same(extent, d.extent):
        return False
    if meta_key(d.block, grid.meta) == axis.block:
        return True
    given = launch.arguments.get(axis.block)
    if given is not None and same(given, d.block):
        return True
    present = current_value(module, kernel, launch, axis.block)
    return present is not None and literal_int(d.block) == present


def _recompute_ids(module: Module, plan: _Plan, patch: Patch, taken: set[str], group: str) -> bool:
    """Number the tiles group by group from the one program id that is left."""
    rows, columns = plan.rows, plan.columns
    first, second = sorted((rows.statement, columns.statement), key=lambda s: s.lineno)
    if not (patch.owns_lines(first) and patch.owns_lines(second)):
        return False
    call = first.value
    assert isinstance(call, ast.Call)
    program_id = patch.source(call.func)
    prefix = program_id.removesuffix("program_id")
    names = ("pid", "num_pid_m", "num_pid_n", "pids_in_group", "first_pid_m", "group_rows")
    pid, num_m, num_n, size, start, height = (fresh_name(taken, name) for name in names)
    lines = [
        f"{pid} = {program_id}(0)",
        f"{num_m} = {prefix}cdiv({rows.extent}, {rows.block})",
        f"{num_n} = {prefix}cdiv({columns.extent}, {columns.block})",
        f"{size} = {group} * {num_n}",
        f"{start} = ({pid} // {size}) * {group}",
        f"{height} = {prefix}minimum({num_m} - {start}, {group})",
        f"{rows.name} = {start} + ({pid} % {size}) % {height}",
        f"{columns.name} = ({pid} % {size}) // {height}",
    ]
    glue = patch.newline + patch.indent(first)
    patch.replace(first, glue.join(lines))
    patch.delete_lines(second)
    return True


def _flatten_grid(plan: _Plan, patch: Patch) -> None:
    axes = plan.grid.axes
    product = " * ".join(
        patch.source(axis) if isinstance(axis, ast.Call | ast.Name) else f"({patch.source(axis)})"
        for axis in axes
    )
    patch.replace(plan.grid.tuple_node, f"({product},)")
