"""Assignments: to names, to tuples, and into tensors."""

import ast
from dataclasses import dataclass

import tilewright.analysis.nki.expressions as ex
from tilewright.analysis.nki.evaluate import value_of
from tilewright.analysis.nki.facts import combined, item_of
from tilewright.analysis.nki.model import NOTHING_KNOWN, Fact, Origin, View, Write
from tilewright.analysis.nki.state import State
from tilewright.analysis.nki.values import UNKNOWN, Grid, Items, ShapeOf, Value


@dataclass(frozen=True)
class Given:
    """What a target is assigned: ``node`` is the expression, None where there is none."""

    value: Value = UNKNOWN
    fact: Fact = NOTHING_KNOWN
    node: ast.expr | None = None


def given_by(state: State, node: ast.expr) -> Given:
    """What an expression, which is evaluated here, gives a target."""
    value = value_of(state, node)
    return Given(value, state.flow.fact(node), node)


def assign(state: State, target: ast.expr, given: Given) -> None:
    """``target = value``."""
    match target:
        case ast.Name(id=name):
            state.env[name] = given.value
            state.bind(name, given.fact, given.node)
        case ast.Tuple() | ast.List():
            _unpack(state, target, given)
        case ast.Subscript():
            _store(state, target, given.value, accumulates=False)
        case ast.Starred():
            assign(state, target.value, Given())
        case _:
            value_of(state, target)


def _unpack(state: State, target: ast.Tuple | ast.List, given: Given) -> None:
    values, count = _parts(given.value, len(target.elts)), len(target.elts)
    if len(values) != count:
        values = (UNKNOWN,) * count
    node = given.node
    for place, (part, value) in enumerate(zip(target.elts, values, strict=True)):
        if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == count:
            element = node.elts[place]
            assign(state, part, Given(value, state.flow.fact(element), element))
        else:
            assign(state, part, Given(value, item_of(given.fact)))


def _parts(value: Value, count: int) -> tuple[Value, ...]:
    match value:
        case Items(values=values):
            return values
        case Grid(arrays=arrays):
            return arrays
        case ShapeOf(name=name):
            return tuple(ex.size_symbol(name, axis) for axis in range(count))
    return ()


def _store(state: State, target: ast.Subscript, value: Value, *, accumulates: bool) -> None:
    """``target[...] = value``."""
    picked, statement = value_of(state, target), state.statement
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
        base = state.flow.fact(target.value)
        state.flow.writes.append(Write(target, base, statement, state.path))
    if isinstance(state.flow.value(target.value), View):
        assert isinstance(picked, View)
        _update(state, target, picked, value, accumulates=accumulates)
    elif isinstance(value, View):
        state.operation("forget", statement, (value,))


def _update(state: State, target: ast.expr, view: View, value: Value, *, accumulates: bool) -> None:
    """A tensor, or a part of one, is given a value."""
    node = getattr(state.statement, "value", None)
    source = state.by_node.get(id(node)) if isinstance(node, ast.expr) else None
    is_view = isinstance(value, View)
    state.operation(
        "assign",
        target,
        (value,) if isinstance(value, View) else (),
        (view,),
        operands={"dst": view, **({"value": value} if isinstance(value, View) else {})},
        values={} if is_view else {"value": value},
        given={} if node is None else {"value": node},
        accumulates=accumulates or (source is not None and source.accumulates),
        mask=None if source is None else source.mask,
        source=source,
    )


def augmented(state: State, statement: ast.AugAssign) -> None:
    """``target += value``."""
    value = value_of(state, statement.value)
    target, adds = statement.target, isinstance(statement.op, ast.Add)
    if isinstance(target, ast.Subscript):
        _store(state, target, value, accumulates=adds)
        state.flow.sums.append((state.flow.fact(target.value), state.path))
    elif isinstance(target, ast.Name):
        read = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        now, before = value_of(state, read), state.flow.fact(read)
        state.flow.sums.append((before, state.path))
        if isinstance(now, View) and now.storage.origin is not Origin.PARAMETER:
            _update(state, target, now, value, accumulates=adds)
        else:
            state.env[target.id] = ex.arithmetic(statement.op, now, value)
        if not before.is_tile:
            parts = [before, state.flow.fact(statement.value)]
            state.bind(target.id, combined(state, statement.value, parts), None)
