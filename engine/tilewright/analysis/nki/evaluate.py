"""Evaluation of expressions, with the calls in them."""

import ast

import tilewright.analysis.nki.expressions as ex
from tilewright.analysis.nki.affine import Affine
from tilewright.analysis.nki.calls import Call, apply, method, record, used
from tilewright.analysis.nki.catalogue import NL, Result
from tilewright.analysis.nki.indexing import ELLIPSIS, Array, Item
from tilewright.analysis.nki.model import Comparison, Mask, Operation, View
from tilewright.analysis.nki.shapes import result_shape
from tilewright.analysis.nki.state import (
    UNKNOWN,
    Items,
    Literal,
    Many,
    State,
    Value,
    whole,
)

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
_MODULES = ("nki.", "numpy.", "jax.", "torch.", "math.")
_MAX_DEPTH = 20


def value_of(state: State, node: ast.expr) -> Value:
    """The value of an expression."""
    match node:
        case ast.Subscript():
            return _subscript(state, node)
        case ast.Call():
            return _call(state, node)
        case ast.BinOp():
            return _binary(state, node)
        case ast.Compare():
            return _compare(state, node)
        case ast.BoolOp():
            return _bool(state, node)
        case ast.UnaryOp():
            return _unary(state, node)
        case ast.IfExp():
            return _conditional(state, node)
    return _simple(state, node)


def _simple(state: State, node: ast.expr) -> Value:
    match node:
        case ast.Constant():
            return ex.constant(state, node)
        case ast.Name():
            return _name(state, node)
        case ast.Attribute():
            return _attribute(state, node)
        case ast.Tuple() | ast.List():
            return _items(state, node)
        case ast.NamedExpr(target=ast.Name(id=name)):
            state.env[name] = value_of(state, node.value)
            return state.env[name]
    _visit_children(state, node)
    return UNKNOWN


def _visit_children(state: State, node: ast.expr) -> None:
    """What is inside an expression that is not followed may still use tensors."""
    if isinstance(node, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
        escape(state, node)
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            value_of(state, child)


def escape(state: State, node: ast.expr | ast.stmt) -> None:
    """Tensors named in code that is not followed are used there, in a way that is not known."""
    named = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    views = tuple(v for name in named if isinstance(v := state.env.get(name), View))
    if not views:
        return
    state.complete = False
    record(state, used(state, "call", node, views, written=True))


def _name(state: State, node: ast.Name) -> Value:
    if node.id in state.env:
        return state.env[node.id]
    dotted = state.names.resolve(node)
    if dotted is not None and dotted != node.id:
        return ex.dotted_value(dotted)
    if node.id in state.constants and state.constant_depth < _MAX_DEPTH:
        state.constant_depth += 1
        try:
            return value_of(state, state.constants[node.id])
        finally:
            state.constant_depth -= 1
    return UNKNOWN


def _attribute(state: State, node: ast.Attribute) -> Value:
    root = node.value
    while isinstance(root, ast.Attribute):
        root = root.value
    if not (isinstance(root, ast.Name) and root.id in state.env):
        dotted = state.names.resolve(node)
        if dotted is not None and dotted.startswith(_MODULES):
            return ex.dotted_value(dotted)
    return ex.attribute(state, node, value_of(state, node.value))


def _items(state: State, node: ast.Tuple | ast.List) -> Value:
    if isinstance(node, ast.List) and not node.elts:
        return Many(None)
    values: list[Value] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = value_of(state, element.value)
            if not isinstance(inner, Items):
                return UNKNOWN
            values += inner.values
        else:
            values.append(value_of(state, element))
    views = tuple(value for value in values if isinstance(value, View))
    if views:
        record(state, used(state, "collect", node, views))
    return Items(tuple(values))


def _binary(state: State, node: ast.BinOp) -> Value:
    left, right = value_of(state, node.left), value_of(state, node.right)
    if isinstance(node.op, ast.BitAnd) and _is_condition(left) and _is_condition(right):
        return ex.both(left, right)
    if _is_tile(left) or _is_tile(right):
        return _elementwise(state, node, _OPERATORS.get(type(node.op)), left, right)
    return ex.arithmetic(node.op, left, right)


def _is_condition(value: Value) -> bool:
    return isinstance(value, Mask | Comparison)


def _is_tile(value: Value) -> bool:
    return isinstance(value, View) and ex.as_integer(value) is None


def _elementwise(
    state: State, node: ast.expr, name: str | None, left: Value, right: Value
) -> Value:
    operands = {n: v for n, v in (("x", left), ("y", right)) if isinstance(v, View)}
    tiles = list(operands.values())
    shape = result_shape(state, Result.ELEMENTWISE, tiles, {})
    kinds = {tile.dtype for tile in tiles}
    dtype = kinds.pop() if len(kinds) == 1 else None
    made = state.storage("tile", shape, None, dtype=dtype, zeroed=True, node=node)
    operation = Operation(
        name=f"{NL}{name}" if name else "operator",
        node=node,
        statement=state.statement or ast.Pass(),
        operands=operands,
        values={n: v for n, v in (("x", left), ("y", right)) if not isinstance(v, View)},
        given=_sides(node),
        result=whole(made, node),
        reads=tuple(tiles),
        writes=(),
        accumulates=False,
        mask=None,
        loops=state.loops,
        branches=state.branches,
        order=state.tick(),
        operator=True,
    )
    record(state, operation)
    return operation.result or UNKNOWN


def _sides(node: ast.expr) -> dict[str, ast.expr]:
    return {"x": node.left, "y": node.right} if isinstance(node, ast.BinOp) else {}


def _unary(state: State, node: ast.UnaryOp) -> Value:
    value = value_of(state, node.operand)
    if isinstance(node.op, ast.USub):
        if isinstance(value, Affine):
            return -value
        if isinstance(value, Array):
            return Array(-value.value, value.rank)
        if isinstance(value, Literal) and isinstance(value.value, float):
            return Literal(-value.value)
    if isinstance(node.op, ast.Not):
        known = ex.truth(state, value)
        return UNKNOWN if known is None else Literal(not known)
    if isinstance(value, View) and _is_tile(value):
        return _elementwise(state, node, None, value, UNKNOWN)
    return UNKNOWN


def _compare(state: State, node: ast.Compare) -> Value:
    values = [value_of(state, node.left), *(value_of(state, c) for c in node.comparators)]
    if any(_is_tile(value) for value in values) and not _only_none(node):
        return _elementwise(state, node, None, values[0], values[1])
    if len(values) == 2:
        return ex.comparison(node.ops[0], values[0], values[1])
    pairs = zip(node.ops, values, values[1:], strict=False)
    known = [ex.truth(state, ex.comparison(op, one, two)) for op, one, two in pairs]
    if False in known:
        return Literal(False)
    return Literal(True) if all(known) else UNKNOWN


def _only_none(node: ast.Compare) -> bool:
    return any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops)


def _bool(state: State, node: ast.BoolOp) -> Value:
    wanted = isinstance(node.op, ast.Or)
    known = [ex.truth(state, value_of(state, part)) for part in node.values]
    if wanted in known:
        return Literal(wanted)
    return UNKNOWN if None in known else Literal(not wanted)


def _conditional(state: State, node: ast.IfExp) -> Value:
    known = ex.truth(state, value_of(state, node.test))
    if known is not None:
        return value_of(state, node.body if known else node.orelse)
    one, two = value_of(state, node.body), value_of(state, node.orelse)
    views = tuple(value for value in (one, two) if isinstance(value, View))
    if views and one is not two:
        record(state, used(state, "forget", node, views))
    return ex.joined(one, two)


def _subscript(state: State, node: ast.Subscript) -> Value:
    if state.names.resolve(node.value) == NL + "mgrid":
        return _mgrid(state, node)
    base = value_of(state, node.value)
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if isinstance(base, Array):
        return ex.orient(base, parts)
    if isinstance(base, Items) and isinstance(node.slice, ast.Slice):
        return _sliced(state, base, node.slice)
    return ex.pick(state, base, indices_of(state, base, parts), node)


def indices_of(state: State, base: Value, parts: list[ast.expr]) -> list[Item]:
    """The indices of a subscript."""
    sides = base.shape if isinstance(base, View) and base.indices != () else None
    if isinstance(base, View) and base.whole:
        sides = base.storage.shape
    found: list[Item] = []
    for place, part in enumerate(parts):
        if ex.is_ellipsis(part):
            found.append(ELLIPSIS)
        elif isinstance(part, ast.Slice):
            after = ELLIPSIS in found
            side = sides[place] if sides is not None and place < len(sides) and not after else None
            found.append(_stretch(state, side, part))
        else:
            value = value_of(state, part)
            if isinstance(value, View):
                record(state, used(state, "collect", part, (value,)))
            found.append(ex.item(value))
    return found


def _stretch(state: State, side: Affine | None, node: ast.Slice) -> Item:
    low, high, step = (
        Literal(None) if part is None else value_of(state, part)
        for part in (node.lower, node.upper, node.step)
    )
    return ex.stretch(side, low, high, step)


def _sliced(state: State, base: Items, node: ast.Slice) -> Value:
    ends: list[int | None] = []
    for part in (node.lower, node.upper):
        value = None if part is None else ex.as_integer(value_of(state, part))
        number = state.number(value)
        if part is not None and number is None:
            return UNKNOWN
        ends.append(number)
    return UNKNOWN if node.step is not None else Items(base.values[ends[0] : ends[1]])


def _mgrid(state: State, node: ast.Subscript) -> Value:
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    bounds: list[tuple[Affine, Affine] | None] = []
    for part in parts:
        if not isinstance(part, ast.Slice) or part.upper is None or part.step is not None:
            return UNKNOWN
        zero = ast.Constant(0)
        low = ex.as_integer(value_of(state, part.lower or zero))
        high = ex.as_integer(value_of(state, part.upper))
        bounds.append(None if low is None or high is None else (low, high))
    return ex.grid(bounds)


def _call(state: State, node: ast.Call) -> Value:
    positional: list[Value] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            value_of(state, argument.value)
            positional.append(UNKNOWN)
        else:
            positional.append(value_of(state, argument))
    keywords = {k.arg or "**": value_of(state, k.value) for k in node.keywords}
    owner = None
    if isinstance(node.func, ast.Attribute):
        root = node.func.value
        if not (isinstance(root, ast.Name) and root.id not in state.env):
            owner = value_of(state, root)
    dotted = state.names.resolve(node.func) or ""
    call = Call(node, dotted, tuple(positional), keywords)
    if isinstance(node.func, ast.Attribute):
        if isinstance(owner, View):
            return method(state, call, owner, node.func.attr)
        if isinstance(owner, Many):
            return _appended(state, node.func, positional)
    return apply(state, call)


def _appended(state: State, function: ast.Attribute, positional: list[Value]) -> Value:
    """``tiles.append(tile)``: one sample stands for all, as they are alike."""
    if function.attr != "append" or not isinstance(function.value, ast.Name) or not positional:
        return UNKNOWN
    first = positional[0]
    name = function.value.id
    if isinstance(first, View):
        record(state, used(state, "collect", function, (first,)))
    now = state.env.get(name)
    if not isinstance(now, Many) or not isinstance(first, View | Many):
        state.env[name] = UNKNOWN
    elif now.sample is None:
        state.env[name] = Many(first)
    elif not _alike(now.sample, first):
        state.env[name] = UNKNOWN
    return UNKNOWN


def _alike(one: View | Many, two: View | Many) -> bool:
    if isinstance(one, Many) or isinstance(two, Many):
        return isinstance(one, Many) and isinstance(two, Many)
    return one.shape == two.shape and one.memory == two.memory
