"""Rewrites of loops of NKI kernels that move few bytes at a time: wider tiles, or all columns."""

import ast
from collections.abc import Mapping

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.nki import Affine, Loop, Operation
from tilewright.analysis.nki.catalogue import CREATORS, FUNCTIONS, ISA, NL, Result
from tilewright.rewrites.calls import fresh_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.nki.statements import (
    NOT_HERE,
    StatementSite,
    bindings_in,
    check_deletable,
    site_of,
    stated_sizes,
    writes_to,
)
from tilewright.rewrites.scope import names_in, set_in, statement_of
from tilewright.source.model import Module

_WIDTHS = (512, 256, 128, 64)
"""512 columns of fp32 are the 2 KiB in a row that a transfer should move; more would cut off more
extents that are no multiple."""
_ARRAY = 128
_PRODUCTS = frozenset({ISA + "nc_matmul", ISA + "nc_transpose", NL + "transpose", NL + "matmul"})
_MOVES = frozenset(
    (
        *(NL + "load", NL + "store", NL + "copy", ISA + "dma_copy", ISA + "tensor_copy"),
        *(ISA + "tensor_tensor_scan", ISA + "memset", "assign", "forget", NL + "broadcast_to"),
    )
)
_LOADS = ("load", "dma_copy")
_SUMMED = (*_LOADS, "nc_matmul", "nc_transpose", "assign", "copy", "tensor_copy", "forget")


@rewrite("nki_small_dma", "Move more columns at a time", Numerics.REASSOCIATING)
def nki_widen(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """Give the tiles of a loop more columns, and the loop as many fewer iterations."""
    site = site_of(module, issue)
    load = _load(site)
    if load is None:
        raise RefusedError(NOT_HERE)
    loop = load.loops[-1]
    if _column(site, load, loop):
        return _columns(site, load, loop)
    width = _width(site, load, loop)
    if width is None:
        raise RefusedError("the columns that an iteration loads are not index * width for a width")
    _check_fit(site, loop)
    wider = _wider(site, context, loop, width)
    return _rewritten(site, loop, width, wider)


@rewrite("nki_small_matmul_tile", "Contract 128 rows at once", Numerics.REASSOCIATING)
def nki_fill_array(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """Contract 128 rows at once, in a loop as many times shorter."""
    site = site_of(module, issue)
    product = next(site.named(ISA + "nc_matmul"), None)
    if product is None or not product.loops:
        raise RefusedError(NOT_HERE)
    loop = product.loops[-1]
    loads = [o for o in site.flow.operations if o.short in _LOADS and loop in o.loops]
    width = {_width(site, o, loop, 0) or _width(site, o, loop) for o in loads}
    rows = product.operands["stationary"].shape if "stationary" in product.operands else None
    (one,) = width if len(width) == 1 else (None,)
    if one is None or rows is None or site.flow.number(rows[0]) != one:
        raise RefusedError(
            "the operands are not loaded by index * rows in this loop, for equal rows"
        )
    _check_sums(site, loop)
    wider = _wider(site, context, loop, one)
    return _rewritten(site, loop, one, wider)


def _check_sums(site: StatementSite, loop: Loop) -> None:
    """Refuse an instruction of the loop that does more than load, multiply and add up."""
    for operation in site.flow.operations:
        if loop not in operation.loops or operation.short in _SUMMED:
            continue
        adds = operation.short == "tensor_tensor" and "dst" in operation.given
        if not adds:
            raise RefusedError(
                f"{operation.short} in the loop may depend on how many rows there are"
            )


def _load(site: StatementSite) -> Operation | None:
    found = site.named(NL + "load", ISA + "dma_copy")
    return next((o for o in found if o.loops and "src" in o.operands), None)


def _width(site: StatementSite, load: Operation, loop: Loop, axis: int = -1) -> int | None:
    """The literal number of elements that an index moves on by in each iteration."""
    view = load.operands["src"]
    last = view.indices[axis] if view.indices else None
    if last is None or last.base is None or loop.symbol is None or len(last.lanes) != 1:
        return None
    step = last.base.coefficient(loop.symbol)
    number = None if step is None else site.flow.number(step)
    (lane,) = last.lanes
    return number if number is not None and number == site.flow.number(lane.extent) else None


def _check_fit(site: StatementSite, loop: Loop) -> None:
    """Refuse an instruction of the loop that means something else on a wider tile."""
    for operation in site.flow.operations:
        if loop not in operation.loops:
            continue
        function = FUNCTIONS.get(operation.name)
        plain = function is not None and function.result in (Result.SAME, Result.ELEMENTWISE)
        sums = {"reduce_op", "reduce_res"} & operation.given.keys()
        known = plain or operation.name in _MOVES or operation.name in _PRODUCTS
        if not known or sums or operation.loops[-1] is not loop:
            raise RefusedError(f"{operation.short} in the loop may depend on how wide its tile is")
        if operation.accumulates and operation.name != "assign":
            raise RefusedError("a product of the loop adds to what an earlier iteration left")


def _wider(site: StatementSite, context: AnalysisContext, loop: Loop, width: int) -> int:
    """The width to take: it divides the whole extent, by the problem."""
    extents = _extents(site, context, loop, width)
    if not extents:
        raise RefusedError("the number of columns is not known here, and has to be a multiple")
    products = any(o.name in _PRODUCTS and loop in o.loops for o in site.flow.operations)
    for wider in _WIDTHS:
        fits = wider <= _ARRAY or not products
        if wider > width and fits and wider % width == 0 and all(e % wider == 0 for e in extents):
            return wider
    raise RefusedError("no larger width divides the number of columns")


def _extents(site: StatementSite, context: AnalysisContext, loop: Loop, width: int) -> list[int]:
    """What the loop's index times the width comes to: by the text, or by the problem's shapes."""
    head = loop.node.iter if isinstance(loop.node, ast.For) else None
    match head:
        case ast.Call(args=[ast.BinOp(left=whole, op=ast.FloorDiv(), right=ast.Constant(value=w))]):
            value = site.flow.value(whole)
            stated = stated_sizes(site, context)
            known = isinstance(value, Affine) and w == width
            number = value.substitute(stated).number if isinstance(value, Affine) else None
            return [number] if known and number is not None else []
    trip = site.flow.number(loop.trip)
    return [trip * width] if trip is not None else []


def _check_outside(site: StatementSite, loop: Loop, width: int, wider: int) -> None:
    """No tile from outside the loop that an iteration takes its own part of, too small for more."""
    for operation in site.flow.operations:
        for view in (*operation.reads, *operation.writes) if loop in operation.loops else ():
            tile = view.storage
            if not tile.on_chip or loop in tile.loops or view.indices is None:
                continue
            used = {s for i in view.indices if i.base is not None for s in i.base.symbols}
            sides = site.flow.numbers(view.shape) or ()
            whole = site.flow.numbers(tile.shape) or (None,)
            cut = loop.symbol in used and site.flow.numbers(view.shape) == whole
            if cut or (width in sides and 0 < (whole[-1] or 0) < wider):
                raise RefusedError(
                    f"{tile.name}, from outside the loop, is cut by its index or width"
                )


def _rewritten(site: StatementSite, loop: Loop, width: int, wider: int) -> str:
    _check_outside(site, loop, width, wider)
    patch = Patch(site.module)
    roots = _roots(site, loop)
    assert isinstance(loop.node, ast.For)
    new = {width: wider, width - 1: wider - 1}
    head = loop.node.iter
    if not _divide(patch, head, width, wider):
        raise RefusedError("the number of iterations is not written as a number or a quotient")
    for root in roots:
        above = {id(c): p for p in ast.walk(root) for c in ast.iter_child_nodes(p)}
        for node in ast.walk(root):
            if not isinstance(node, ast.Constant) or type(node.value) is not int:
                continue
            if node.value not in new:
                continue
            use = _use(site, node, above, loop, width)
            if use is None and node.value == width:
                raise RefusedError(f"the number {width} is used for something else in the loop")
            if use:
                patch.replace(node, str(new[node.value]))
    return patch.apply()


def _roots(site: StatementSite, loop: Loop) -> list[ast.AST]:
    """What to look through: the body, and index sets made outside that the body alone reads."""
    roots: list[ast.AST] = list(loop.node.body)
    last = loop.node.end_lineno or loop.node.lineno
    inside = {id(n) for n in ast.walk(loop.node)}
    outer = {r.binding for r in site.flow.reads if id(r.node) in inside}
    for binding in outer:
        value, line = binding.value, getattr(binding.statement, "lineno", 0)
        if value is None or not 0 < line < loop.node.lineno or not _is_arange(site, value):
            continue
        reads = [r.node for r in site.flow.reads if r.binding is binding]
        if all(loop.node.lineno <= node.lineno <= last for node in reads):
            roots.append(value)
    return roots


def _is_arange(site: StatementSite, value: ast.expr) -> bool:
    calls = [n for n in ast.walk(value) if isinstance(n, ast.Call)]
    return any(site.module.names.resolve(c.func) == NL + "arange" for c in calls)


def _divide(patch: Patch, head: ast.expr, width: int, wider: int) -> bool:
    """Fewer iterations: ``columns // 32`` becomes ``columns // 512``, and 64 becomes 4."""
    match head:
        case ast.Call(args=[ast.BinOp(op=ast.FloorDiv(), right=ast.Constant(value=value) as node)]):
            if value == width:
                patch.replace(node, str(wider))
                return True
        case ast.Call(args=[ast.Constant(value=int() as trip) as node]):
            patch.replace(node, str(trip * width // wider))
            return True
    return False


def _use(
    site: StatementSite, node: ast.Constant, above: Mapping[int, ast.AST], loop: Loop, width: int
) -> bool | None:
    """Whether a number is the width; None where it may be, and may be something else."""
    parent = above.get(id(node))
    match parent:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            other = right if left is node else left
            return True if isinstance(other, ast.Name) and other.id == loop.index else None
        case ast.BinOp(op=ast.Add(), left=left) if node.value == width:
            return True if loop.index in names_in(left) else None
        case ast.Slice(lower=lower, upper=upper):
            return _in_slice(node, lower, upper, width)
        case ast.Call(func=function, args=args):
            return _in_call(site, node, function, args)
        case ast.Tuple(elts=elements):
            grand = above.get(id(parent))
            shape = isinstance(grand, ast.Call) and _takes_shape(site, grand)
            twice = sum(isinstance(e, ast.Constant) and e.value == width for e in elements) > 1
            return True if shape and not twice and node.value == width else None
    return None if node.value == width else False


def _in_slice(
    node: ast.Constant, lower: ast.expr | None, upper: ast.expr | None, width: int
) -> bool | None:
    ends = [e.value if isinstance(e, ast.Constant) else None for e in (lower, upper)]
    whole = ends[0] in (0, None) and ends[1] == width and (lower is None or ends[0] == 0)
    last = ends == [width - 1, width]
    if whole or last:
        return node.value == width or last
    return None if node.value == width else False


def _in_call(
    site: StatementSite, node: ast.Constant, function: ast.expr, args: list[ast.expr]
) -> bool | None:
    name = site.module.names.resolve(function)
    if name == NL + "arange":
        return True
    return True if name == NL + "ds" and len(args) == 2 and args[1] is node else None


def _takes_shape(site: StatementSite, call: ast.Call) -> bool:
    name = site.module.names.resolve(call.func) or ""
    spread = isinstance(call.func, ast.Attribute) and call.func.attr == "broadcast_to"
    return spread or name in CREATORS or name == ISA + "memset"


def _column(site: StatementSite, load: Operation, loop: Loop) -> bool:
    """Whether a load takes one column, that of the loop's index: ``[..., i : i + 1]``."""
    part = _last_part(load)
    match part:
        case ast.Slice(
            lower=ast.Name(id=low),
            upper=ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=ast.Constant(value=1)),
        ):
            return low == name == loop.index
    return False


def _last_part(load: Operation) -> ast.expr | None:
    source = load.given.get("src")
    if not isinstance(source, ast.Subscript) or not isinstance(source.slice, ast.Tuple):
        return None
    return source.slice.elts[-1]


def _columns(site: StatementSite, load: Operation, loop: Loop) -> str:
    """Load all columns before the loop, and take one in each iteration."""
    head = loop.node.iter if isinstance(loop.node, ast.For) else None
    if not isinstance(head, ast.Call) or len(head.args) != 1 or load.mask is not None:
        raise RefusedError("the load is masked, or the loop does not begin at 0")
    view = load.result if load.result is not None else load.operands.get("dst")
    sides = site.flow.numbers(view.shape) if view is not None else None
    inside = {b.name for b in bindings_in(site, loop.node)} - {loop.index}
    if view is None or sides is None or sides[0] is None or names_in(load.given["src"]) & inside:
        raise RefusedError("what is loaded depends on something else that the loop sets")
    if [w for w in writes_to(site.flow, view.storage) if w is not load]:
        raise RefusedError(f"{view.storage.name} is changed after it is loaded")
    if writes_to(site.flow, load.operands["src"].storage):
        raise RefusedError(f"{load.operands['src'].storage.name} is written by the kernel")
    return _placed(site, load, loop, head.args[0], sides[0])


def _placed(
    site: StatementSite, load: Operation, loop: Loop, count: ast.expr, partitions: int
) -> str:
    patch, part, source = Patch(site.module), _last_part(load), load.operands["src"].storage
    assert part is not None
    assert isinstance(load.node, ast.Call)
    taken = set_in(site.kernel.node) | names_in(site.kernel.node)
    name = fresh_name(taken, f"{source.name}_columns")
    start = patch.span(load.node)[0]
    low, high = (place - start for place in patch.span(part))
    text = patch.source(load.node)
    whole = f"{text[:low]}0:{patch.source(count)}{text[high:]}"
    column = f"{name}[0:{partitions}, {patch.source(part)}]"
    place, indent = patch.line_start(loop.node.lineno), patch.indent(loop.node)
    if load.result is not None:
        patch.splice(place, place, f"{indent}{name} = {whole}{patch.newline}")
        patch.replace(load.node, column)
        return patch.apply()
    allocated = _allocation(site, load, loop)
    check_deletable(patch, load.statement)
    made = patch.source(allocated)
    shape = next(n for n in ast.walk(allocated) if isinstance(n, ast.Tuple))
    one = patch.span(shape.elts[-1])
    at = patch.span(allocated)[0]
    made = f"{made[: one[0] - at]}{patch.source(count)}{made[one[1] - at :]}"
    first = patch.span(load.given["dst"])
    whole = f"{text[: first[0] - start]}{name}{whole[first[1] - start :]}"
    lines = f"{indent}{name} = {made}{patch.newline}{indent}{whole}{patch.newline}"
    patch.splice(place, place, lines)
    patch.replace(allocated, column)
    patch.delete_lines(load.statement)
    return patch.apply()


def _allocation(site: StatementSite, load: Operation, loop: Loop) -> ast.expr:
    """The call that allocates the tile of one column, in the loop."""
    tile = load.operands["dst"].storage
    place = statement_of(site.kernel.node, tile.node) if tile.node is not None else None
    plain = isinstance(place, ast.Assign) and place.value is tile.node and place in loop.node.body
    if not plain or not isinstance(tile.node, ast.Call) or not tile.node.args:
        raise RefusedError(f"{tile.name} is not allocated by a statement of the loop")
    shape = tile.node.args[0]
    in_order = load.given["dst"].lineno <= load.given["src"].lineno
    if not isinstance(shape, ast.Tuple) or len(shape.elts) != 2 or not in_order:
        raise RefusedError(f"the shape of {tile.name} is not written where it is allocated")
    return tile.node
