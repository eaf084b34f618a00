"""Detector of plain stores of several programs to one place."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, choices_of, triton_kernels
from tilewright.analysis.detectors.correctness.counterexamples import shared
from tilewright.analysis.detectors.program_counts import stated_axes
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.tiles import Tiles, tiles_of
from tilewright.analysis.values import Access, Flow, Value, reached
from tilewright.knowledge.model import ADVICE
from tilewright.source.host import before_launch, resolve
from tilewright.source.model import Kernel, Launch, Module

_DATA = frozenset(("load", "compare"))
_LOCKS = frozenset(
    TL + name for name in ("atomic_cas", "atomic_xchg", "atomic_add", "debug_barrier")
)


@detector("race_on_store")
def race_on_store(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A store whose address is the same in programs that store different values."""
    for kernel, flow in triton_kernels(module):
        found = list(_known_races(module, context, kernel, flow))
        is_captured = any(launch.kernel == kernel.name for launch in context.launches)
        yield from found or (() if is_captured else shared(module, kernel))


def _known_races(
    module: Module, context: AnalysisContext, kernel: Kernel, flow: Flow
) -> Iterator[Finding]:
    """The stores whose address lacks the program of some axis."""
    stores = [
        a
        for a in flow.accesses
        if a.kind == "store" and not a.branches and not _may_have_no_turn(flow, a)
    ]
    if not stores or _has_turns(module, kernel, flow):
        return
    tiles = tiles_of(module, kernel, context)
    for store in stores:
        axis = _shared_axis(tiles, flow, store)
        if axis is not None and not _is_single(module, kernel, context, axis):
            base = store.base or _block_base(store)
            yield Finding(
                module.index.range_of(store.node),
                f"Every program along axis {axis} of the grid stores its own value to the same "
                f"place of {base}: which one stays is a matter of chance.",
                kernel.name,
            )
        elif axis is None:
            yield from _repeated(module, kernel, flow, context, tiles, store)


def _repeated(
    module: Module,
    kernel: Kernel,
    flow: Flow,
    context: AnalysisContext,
    tiles: Tiles,
    store: Access,
) -> Iterator[Finding]:
    """A store that every program along an axis repeats, which other stores of the kernel divide."""
    base = store.base
    if base is None or store.result is None or not module.launches_of(kernel.name):
        return
    where = [v for v in (store.pointer, store.mask) if v is not None]
    programs = [tiles.facts_of(value).programs for value in where]
    if any(p is None for p in programs) or any(a.base == base for a in flow.loads):
        return
    own = set[int]().union(*(p for p in programs if p is not None))
    own |= {axis for value in (*where, store.result) for axis in _axes(flow, value)}
    others = {axis for a in flow.writes for axis in _axes(flow, a.pointer) if a.base != base}
    axis = min(others - own, default=None)
    if axis is not None and own and not _is_single(module, kernel, context, axis):
        yield Finding(
            module.index.range_of(store.node),
            f"Every program along axis {axis} of the grid stores the same to the same place of "
            f"{base} at once: one of them is enough.",
            kernel.name,
            severity=ADVICE,
        )


def _has_turns(module: Module, kernel: Kernel, flow: Flow) -> bool:
    """Whether programs may take turns, or some leave before the store."""
    body = kernel.node.body
    returns = any(n is not body[-1] for n in nodes_like(kernel.node, ast.Return))
    return (
        returns
        or any(module.names.resolve(call.func) in _LOCKS for call, _, _ in flow.placed)
        or any(a.kind == "atomic" for a in flow.accesses)
    )


def _may_have_no_turn(flow: Flow, store: Access) -> bool:
    """Whether a loop around a store counts to what was loaded or is compared.

    Such a loop is a condition: some programs make no turn and leave the place to another.
    """
    ends = [end for loop in store.loops for end in flow.loops[loop].bounds or ()]
    return any(v.op in _DATA for end in ends for v in _reach(flow, end))


def _shared_axis(tiles: Tiles, flow: Flow, store: Access) -> int | None:
    """A grid axis over which the stored value surely differs and the address surely does not."""
    if store.result is None or (store.base is None and _block_base(store) is None):
        return None
    differing = _axes(flow, store.result)
    if not differing:
        return None
    where = [store.pointer] + ([] if store.mask is None else [store.mask])
    may_differ: set[int] = set()
    for value in where:
        programs = tiles.facts_of(value).programs
        if programs is None:
            return None
        may_differ |= programs
        may_differ |= _axes(flow, value)
    return min(differing - may_differ, default=None)


def _block_base(store: Access) -> str | None:
    """The parameter that a block pointer, made for the store and not moved, points into."""
    made = store.pointer
    if not made.is_call(TL + "make_block_ptr") or not made.operands:
        return None
    return pointer_base(made.keyword("base") or made.operands[0])


def _axes(flow: Flow, value: Value) -> set[int]:
    """Grid axes whose program id a value is computed from."""
    ids = (v.detail for v in _reach(flow, value) if v.op == "program_id")
    return {axis for axis in ids if isinstance(axis, int)}


def _reach(flow: Flow, value: Value) -> Iterator[Value]:
    """Everything a value is computed from, through loops as well."""
    edges = flow.back_edges
    return reached(value, lambda v: (*v.operands, edges[v]) if v in edges else v.operands)


def _is_single(module: Module, kernel: Kernel, context: AnalysisContext, axis: int) -> bool:
    """Whether some launch has only one program along an axis, as far as its grid can be read."""
    for facts in context.launches:
        if facts.kernel == kernel.name and (len(facts.grid) <= axis or facts.grid[axis] == 1):
            return True
    # Of a name that several functions define kernels of, each launch may be the one of this kernel.
    launches = module.lookup.launches.get(kernel.name, ())
    return any(one_along(module, launch, axis) for launch in launches)


def one_along(module: Module, launch: Launch, axis: int) -> bool:
    """Whether a grid has no such axis, or 1 there: as it states, or as the host asserts."""
    axes = stated_axes(module, launch)
    if axes is None or any(isinstance(part, ast.Starred) for part in axes):
        return False
    if axis >= len(axes):
        return True
    part = axes[axis]
    forms = (part, resolve(module, launch, part))
    return any(_is_one(form) or _is_one_block(module, launch, form) for form in forms) or any(
        _demands_one(statement, ast.dump(part)) for statement in before_launch(module, launch)
    )


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == 1


def _is_one_block(module: Module, launch: Launch, count: ast.expr) -> bool:
    """Whether one block holds the whole extent: ``cdiv(n, n)``, ``cdiv(n, next_power_of_2(n))``.

    Or of ``max`` of the latter.
    """
    divided = _divided_up(module, count)
    if divided is None:
        return False
    extent, block = divided
    forms = choices_of(resolve(module, launch, block), "max")
    return ast.dump(extent) == ast.dump(block) or any(
        isinstance(one, ast.Call)
        and module.names.is_call(one, "triton.next_power_of_2")
        and len(one.args) == 1
        and ast.dump(one.args[0]) == ast.dump(extent)
        for one in forms
    )


def _divided_up(module: Module, count: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Extent and block of ``triton.cdiv(n, b)`` and of ``(n + b - 1) // b``."""
    match count:
        case ast.Call(args=[extent, block]) if module.names.is_call(count, "triton.cdiv"):
            return extent, block
        case ast.BinOp(
            left=ast.BinOp(
                left=ast.BinOp(left=extent, op=ast.Add(), right=block),
                op=ast.Sub(),
                right=ast.Constant(value=1),
            ),
            op=ast.FloorDiv(),
            right=divisor,
        ) if ast.dump(block) == ast.dump(divisor):
            return extent, block
    return None


def _demands_one(statement: ast.stmt, count: str) -> bool:
    """``assert n == 1``, or ``if n > 1: raise``."""
    if isinstance(statement, ast.Assert):
        wanted: tuple[type[ast.cmpop], ...] = (ast.Eq, ast.LtE)
    elif isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Raise):
        wanted = (ast.NotEq, ast.Gt)
    else:
        return False
    match statement.test:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return isinstance(operator, wanted) and ast.dump(left) == count and _is_one(right)
    return False
