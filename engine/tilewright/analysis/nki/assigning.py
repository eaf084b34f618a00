"""Assignments: to names, to tuples, and into tensors."""

import ast

import tilewright.analysis.nki.expressions as ex
from tilewright.analysis.nki.calls import record, used
from tilewright.analysis.nki.evaluate import indices_of, value_of
from tilewright.analysis.nki.model import Operation, Origin, View
from tilewright.analysis.nki.state import UNKNOWN, Grid, Items, ShapeOf, State, Value


def assign(state: State, target: ast.expr, value: Value, statement: ast.stmt) -> None:
    """``target = value``."""
    match target:
        case ast.Name(id=name):
            state.env[name] = value
        case ast.Tuple() | ast.List():
            _unpack(state, target, value, statement)
        case ast.Subscript():
            _store(state, target, value, statement, accumulates=False)
        case ast.Starred():
            assign(state, target.value, UNKNOWN, statement)


def _unpack(state: State, target: ast.Tuple | ast.List, value: Value, statement: ast.stmt) -> None:
    values: tuple[Value, ...] = ()
    if isinstance(value, Items):
        values = value.values
    elif isinstance(value, Grid):
        values = value.arrays
    elif isinstance(value, ShapeOf):
        values = tuple(ex.size_symbol(value.name, axis) for axis in range(len(target.elts)))
    if len(values) != len(target.elts):
        values = (UNKNOWN,) * len(target.elts)
    for part, one in zip(target.elts, values, strict=True):
        assign(state, part, one, statement)


def _store(
    state: State,
    target: ast.Subscript,
    value: Value,
    statement: ast.stmt,
    *,
    accumulates: bool,
) -> None:
    base = value_of(state, target.value)
    parts = list(target.slice.elts) if isinstance(target.slice, ast.Tuple) else [target.slice]
    items = indices_of(state, base, parts)
    if not isinstance(base, View):
        if isinstance(value, View):
            record(state, used(state, "forget", statement, (value,)))
        return
    view = ex.pick(state, base, items, target)
    assert isinstance(view, View)
    node = getattr(statement, "value", None)
    source = state.by_node.get(id(node)) if isinstance(node, ast.expr) else None
    operands = {"dst": view, **({"value": value} if isinstance(value, View) else {})}
    state.operations.append(
        Operation(
            name="assign",
            node=target,
            statement=statement,
            operands=operands,
            values={} if isinstance(value, View) else {"value": value},
            given={} if node is None else {"value": node},
            result=None,
            reads=(value,) if isinstance(value, View) else (),
            writes=(view,),
            accumulates=accumulates or (source is not None and source.accumulates),
            mask=None if source is None else source.mask,
            loops=state.loops,
            branches=state.branches,
            order=state.tick(),
            source=source,
        )
    )


def augmented(state: State, statement: ast.AugAssign) -> None:
    """``target += value``."""
    value = value_of(state, statement.value)
    target = statement.target
    if isinstance(target, ast.Subscript):
        adds = isinstance(statement.op, ast.Add)
        _store(state, target, value, statement, accumulates=adds)
        return
    if not isinstance(target, ast.Name):
        return
    now = state.env.get(target.id, UNKNOWN)
    if isinstance(now, View) and now.storage.origin is not Origin.PARAMETER:
        _store_name(state, target, now, value, statement)
        return
    state.env[target.id] = ex.arithmetic(statement.op, now, value)


def _store_name(
    state: State, target: ast.Name, now: View, value: Value, statement: ast.AugAssign
) -> None:
    """``acc += tile`` updates the tensor that ``acc`` names."""
    source = state.by_node.get(id(statement.value))
    state.operations.append(
        Operation(
            name="assign",
            node=target,
            statement=statement,
            operands={"dst": now, **({"value": value} if isinstance(value, View) else {})},
            values={},
            given={"value": statement.value},
            result=None,
            reads=(value,) if isinstance(value, View) else (),
            writes=(now,),
            accumulates=isinstance(statement.op, ast.Add),
            mask=None if source is None else source.mask,
            loops=state.loops,
            branches=state.branches,
            order=state.tick(),
            source=source,
        )
    )
