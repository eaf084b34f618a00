"""Evaluation of expressions: their values, what they stand for, and the calls in them."""

import ast
from collections.abc import Callable, Mapping
from typing import Any

import tilewright.analysis.nki.expressions as ex
from tilewright.analysis.nki.affine import ZERO, Affine
from tilewright.analysis.nki.calls import apply, method
from tilewright.analysis.nki.catalogue import NL, Result
from tilewright.analysis.nki.dtypes import element_type, promoted
from tilewright.analysis.nki.facts import fact_of
from tilewright.analysis.nki.flow import Call, Flow
from tilewright.analysis.nki.model import (
    NOTHING_KNOWN,
    Branch,
    Comparison,
    Mask,
    Memory,
    Read,
    View,
)
from tilewright.analysis.nki.shapes import result_shape
from tilewright.analysis.nki.state import State, whole
from tilewright.analysis.nki.values import (
    ELLIPSIS,
    UNKNOWN,
    Array,
    Item,
    Items,
    Literal,
    Many,
    Value,
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
    """The value of an expression; it and what the expression stands for are put on record."""
    value = _RULES.get(type(node), _parts)(state, node)
    state.flow.values[node] = value
    state.flow.facts[node] = fact_of(state, node)
    return value


def _parts(state: State, node: ast.expr) -> Value:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            value_of(state, child)
    return UNKNOWN


def _named(state: State, node: ast.NamedExpr) -> Value:
    value = value_of(state, node.value)
    state.env[node.target.id] = value
    state.bind(node.target.id, state.flow.fact(node.value), node.value)
    return value


def _hidden(state: State, node: ast.expr) -> Value:
    """What runs later, or never."""
    escape(state, node)
    state.flow.hidden.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
    return UNKNOWN


def _comprehension(state: State, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Value:
    escape(state, node)
    outer = dict(state.local)
    with state.unrecorded():
        for generator in node.generators:
            value_of(state, generator.iter)
            for part in ast.walk(generator.target):
                if isinstance(part, ast.Name):
                    state.env[part.id] = UNKNOWN
                    state.bind(part.id, NOTHING_KNOWN, None)
            for test in generator.ifs:
                value_of(state, test)
        value_of(state, node.elt)
    state.local = outer
    return UNKNOWN


def escape(state: State, node: ast.expr | ast.stmt) -> None:
    """Tensors named in code that is not followed are used there, in a way that is not known."""
    named = sorted({part.id for part in ast.walk(node) if isinstance(part, ast.Name)})
    views = tuple(v for name in named if isinstance(v := state.env.get(name), View))
    if views:
        state.flow.complete = False
        state.operation("call", node, views, views, mask=Mask(None))


def _name(state: State, node: ast.Name) -> Value:
    binding = state.local.get(node.id)
    if binding is not None:
        state.flow.reads.append(Read(node, binding, state.path))
        state.flow.bound[node] = binding
        return state.env.get(node.id, UNKNOWN)
    dotted = state.names.resolve(node)
    if dotted is not None and dotted != node.id:
        return ex.dotted_value(dotted)
    return _outside(state, node.id)


def _outside(state: State, name: str) -> Value:
    """The value of a name that the kernel finds around it."""
    if name not in state.constants or state.constant_depth >= _MAX_DEPTH:
        return UNKNOWN
    depth = state.constant_depth + 1
    file = State(state.names, Flow(state.flow.flavour), state.constants, constant_depth=depth)
    return value_of(file, state.constants[name])


def _attribute(state: State, node: ast.Attribute) -> Value:
    base = value_of(state, node.value)
    dotted = state.dotted(node)
    if dotted is not None and dotted.startswith(_MODULES):
        return ex.dotted_value(dotted)
    if dotted is not None and dotted in state.constants:
        return _outside(state, dotted)
    return ex.attribute(node, base)


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
        state.operation("collect", node, views)
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
    sides = (left, right) if isinstance(node, ast.BinOp) else tiles
    dtype = promoted([element_type(side) for side in sides])
    memory = Memory.SBUF if name else None
    made = state.storage("tile", shape, memory, dtype=dtype, zeroed=True, node=node)
    result = whole(made, node)
    state.operation(
        f"{NL}{name}" if name else "operator",
        node,
        tuple(tiles),
        operands=operands,
        values={n: v for n, v in (("x", left), ("y", right)) if not isinstance(v, View)},
        given=_sides(node),
        result=result,
        operator=True,
    )
    return result


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
            return Literal(-value.value, value.dtype)
    if isinstance(node.op, ast.Not):
        state.flow.logic.append(node)
        known = ex.truth(state, value)
        return UNKNOWN if known is None else Literal(not known)
    if isinstance(value, View) and _is_tile(value):
        return _elementwise(state, node, None, value, UNKNOWN)
    return UNKNOWN


def _compare(state: State, node: ast.Compare) -> Value:
    values = [value_of(state, node.left), *(value_of(state, c) for c in node.comparators)]
    if len(values) > 2 and not _only_none(node):
        state.flow.logic.append(node)
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
    state.flow.logic.append(node)
    if wanted in known:
        return Literal(wanted)
    return UNKNOWN if None in known else Literal(not wanted)


def _conditional(state: State, node: ast.IfExp) -> Value:
    known = ex.truth(state, value_of(state, node.test))
    state.flow.branches.append(Branch(node, state.path))
    if known is not None:
        return _chosen(state, node, known)
    one, two = value_of(state, node.body), value_of(state, node.orelse)
    views = tuple(value for value in (one, two) if isinstance(value, View))
    if views and one is not two:
        state.operation("forget", node, views)
    return ex.joined(one, two)


def _chosen(state: State, node: ast.IfExp, known: bool) -> Value:
    live, dead = (node.body, node.orelse) if known else (node.orelse, node.body)
    value = value_of(state, live)
    with state.unrecorded():
        value_of(state, dead)
    return value


def _subscript(state: State, node: ast.Subscript) -> Value:
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    is_grid = state.names.resolve(node.value) == NL + "mgrid"
    base = UNKNOWN if is_grid else value_of(state, node.value)
    for part in parts:
        value_of(state, part)
    if is_grid:
        return _mgrid(state, parts)
    state.flow.facts[node.slice] = fact_of(state, node.slice)
    state.flow.subscripts.append((node, state.path))
    if isinstance(base, Array):
        return ex.orient(base, parts)
    if isinstance(base, Items) and isinstance(node.slice, ast.Slice):
        return _sliced(state, base, node.slice)
    return ex.pick(state, base, _indices(state, base, parts), node)


def _indices(state: State, base: Value, parts: list[ast.expr]) -> list[Item]:
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
            value = state.flow.value(part)
            if isinstance(value, View):
                state.operation("collect", part, (value,))
            found.append(ex.item(value))
    return found


def _stretch(state: State, side: Affine | None, node: ast.Slice) -> Item:
    low, high, step = (
        Literal(None) if part is None else state.flow.value(part)
        for part in (node.lower, node.upper, node.step)
    )
    return ex.stretch(side, low, high, step)


def _sliced(state: State, base: Items, node: ast.Slice) -> Value:
    ends: list[int | None] = []
    for part in (node.lower, node.upper):
        value = None if part is None else ex.as_integer(state.flow.value(part))
        number = state.flow.number(value)
        if part is not None and number is None:
            return UNKNOWN
        ends.append(number)
    return UNKNOWN if node.step is not None else Items(base.values[ends[0] : ends[1]])


def _mgrid(state: State, parts: list[ast.expr]) -> Value:
    bounds: list[tuple[Affine, Affine] | None] = []
    for part in parts:
        if not isinstance(part, ast.Slice) or part.upper is None or part.step is not None:
            return UNKNOWN
        low = ZERO if part.lower is None else ex.as_integer(state.flow.value(part.lower))
        high = ex.as_integer(state.flow.value(part.upper))
        bounds.append(None if low is None or high is None else (low, high))
    return ex.grid(bounds)


def _call(state: State, node: ast.Call) -> Value:
    dotted, function, owner = state.dotted(node.func), node.func, None
    if dotted is None:
        inner = function.value if isinstance(function, ast.Attribute) else function
        owner = value_of(state, inner)
    positional = tuple(value_of(state, argument) for argument in node.args)
    keywords = {k.arg or "**": value_of(state, k.value) for k in node.keywords}
    call = Call(node, dotted, positional, keywords, state.path, state.statement)
    state.flow.calls.append(call)
    if isinstance(function, ast.Attribute):
        if isinstance(owner, View):
            return method(state, call, owner, function.attr)
        if isinstance(owner, Many):
            return _appended(state, function, positional)
    return apply(state, call)


def _appended(state: State, function: ast.Attribute, positional: tuple[Value, ...]) -> Value:
    """``tiles.append(tile)``: one sample stands for all, as they are alike."""
    if function.attr != "append" or not isinstance(function.value, ast.Name) or not positional:
        return UNKNOWN
    first = positional[0]
    name = function.value.id
    if isinstance(first, View):
        state.operation("collect", function, (first,))
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


_RULES: Mapping[type[ast.expr], Callable[[State, Any], Value]] = {
    ast.Constant: ex.constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Tuple: _items,
    ast.List: _items,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _hidden,
    ast.Lambda: _hidden,
    ast.Call: _call,
    ast.NamedExpr: _named,
}
