"""The rewind of a grouped order of programs: a plain grid of rows and columns."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.values import walk
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.grid import WrittenGrid, division, factors, meta_key, written_grid
from tilewright.rewrites.model import Refusal
from tilewright.rewrites.rewinds.model import Rewind, Rewound
from tilewright.rewrites.rewinds.sites import product_blocks, tl_calls
from tilewright.rewrites.scope import names_in, only_value, same, uses
from tilewright.source.model import Kernel, Launch, Module


@dataclass(frozen=True)
class _Ids:
    """The two statements that take a tile's row and column from one program id."""

    call: ast.Call
    row: ast.Assign
    column: ast.Assign
    leftover: tuple[ast.Assign, ...]


def _ungroup(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    blocks = product_blocks(module, kernel)
    launches = module.launches_of(kernel.name)
    if not blocks or len(launches) != 1:
        return
    ids = _ids(module, kernel, blocks)
    grid = written_grid(module, launches[0])
    if ids is None or isinstance(grid, Refusal) or len(grid.axes) != 1:
        return
    axes = _axes(module, launches[0], grid, blocks)
    if axes is None:
        return
    patch = Patch(module)
    program_id = patch.source(ids.call.func)
    for statement, block in ((ids.row, blocks[0]), (ids.column, blocks[1])):
        patch.replace(statement.value, f"{program_id}({axes.index(block)})")
    for statement in ids.leftover:
        patch.delete_lines(statement)
    parts = [patch.source(part) for part in factors(_product(grid))]
    patch.replace(grid.tuple_node, f"({', '.join(parts)})")
    line = patch.new_line(patch.span(ids.row)[0])
    yield Rewound(patch.apply(), line, context)


def _ids(module: Module, kernel: Kernel, blocks: list[str]) -> _Ids | None:
    calls = tl_calls(module, kernel, "program_id")
    if len(calls) != 1 or tl_calls(module, kernel, "num_programs"):
        return None
    flow = flow_of(module, kernel)
    found: dict[str, ast.Assign] = {}
    for name, definitions in flow.definitions.items():
        statement = definitions[0].statement
        block = _scaled_by(kernel, name, blocks)
        divides = any(
            v.is_binary("FloorDiv", "Mod") and any(p.op == "program_id" for p in walk(v))
            for v in walk(definitions[0].value)
        )
        plain = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        if len(definitions) == 1 and block and divides and plain and statement in kernel.node.body:
            if block in found:
                return None
            assert isinstance(statement, ast.Assign)
            found[block] = statement
    if set(found) != set(blocks):
        return None
    row, column = (found[block] for block in blocks)
    leftover = _leftover(kernel, [row, column])
    set_up = {id(n) for statement in leftover for n in ast.walk(statement)}
    return _Ids(calls[0], row, column, leftover) if id(calls[0]) in set_up else None


def _scaled_by(kernel: Kernel, name: str, blocks: list[str]) -> str | None:
    """The block that every use of a name multiplies it by."""
    found: set[str] = set()
    scaled: set[int] = set()
    for node in ast.walk(kernel.node):
        match node:
            case ast.BinOp(left=ast.Name(id=a) as x, op=ast.Mult(), right=ast.Name(id=b) as y):
                if name in (a, b):
                    found.add(b if a == name else a)
                    scaled.add(id(x if a == name else y))
    only = found.pop() if len(found) == 1 else None
    every = all(id(use) in scaled for use in uses(kernel.node, name))
    return only if every and only in blocks else None


def _leftover(kernel: Kernel, replaced: list[ast.Assign]) -> tuple[ast.Assign, ...]:
    """Statements of which nothing is read any more once two are replaced."""
    gone: list[ast.Assign] = []
    while True:
        unread = {id(n) for s in (*replaced, *gone) for n in ast.walk(s)}
        more = [
            s
            for s in kernel.node.body
            if isinstance(s, ast.Assign)
            and s not in gone
            and s not in replaced
            and isinstance(s.targets[0], ast.Name)
            and only_value(kernel.node, s.targets[0].id) is not None
            and uses(kernel.node, s.targets[0].id)
            and all(id(use) in unread for use in uses(kernel.node, s.targets[0].id))
        ]
        if not more:
            return tuple(gone)
        gone += more


def _product(grid: WrittenGrid) -> ast.expr:
    """The one axis, through a name of the host's for it."""
    axis = grid.axes[0]
    if isinstance(axis, ast.Name):
        return only_value(grid.scope, axis.id) or axis
    return axis


def _axes(module: Module, launch: Launch, grid: WrittenGrid, blocks: list[str]) -> list[str] | None:
    """Which block each factor of the grid counts tiles of."""
    parts = factors(_product(grid))
    if len(parts) != len(blocks):
        return None
    found = [_counted(module, launch, grid, part, blocks) for part in parts]
    named = [block for block in found if block is not None]
    return named if set(named) == set(blocks) else None


def _counted(
    module: Module, launch: Launch, grid: WrittenGrid, part: ast.expr, blocks: list[str]
) -> str | None:
    if isinstance(part, ast.Name):
        part = only_value(grid.scope, part.id) or part
    counted = division(module, part)
    if counted is None:
        return None
    key = meta_key(counted.block, grid.meta)
    if key in blocks:
        return key
    given = [b for b in blocks if same(launch.arguments.get(b), counted.block)]
    return given[0] if len(given) == 1 and names_in(counted.block) else None


REWINDS = (
    Rewind(
        issue="no_swizzling",
        name="rewind_group_programs",
        rewrite="group_programs",
        applies="Every product whose row and column come from one program id by division and "
        "remainder and find nothing but their tile, where the grid is the product of two counts "
        "of tiles: with a grid of two axes.",
        apply=_ungroup,
    ),
)
