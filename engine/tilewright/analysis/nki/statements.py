"""Statements of an NKI kernel, interpreted in order; branches are joined."""

import ast
from collections.abc import Iterable
from itertools import pairwise

import tilewright.analysis.nki.expressions as ex
from tilewright.analysis.nki.assignments import Given, assign, augmented, given_by
from tilewright.analysis.nki.evaluate import escape, value_of
from tilewright.analysis.nki.facts import joined_fact
from tilewright.analysis.nki.loops import run_for, run_while
from tilewright.analysis.nki.model import NOTHING_KNOWN, Binding, Branch, Kind, Region, View
from tilewright.analysis.nki.parameters import asserted
from tilewright.analysis.nki.state import Result, State
from tilewright.analysis.nki.values import UNKNOWN, Items, Literal, Value

_VARYING = frozenset({Kind.LOOP, Kind.INDEX, Kind.MASK, Kind.TILE, Kind.VIEW})


def run_block(state: State, statements: Iterable[ast.stmt]) -> None:
    """Interpret statements in order."""
    for statement in statements:
        if state.frame is not None and state.frame.is_over:
            return
        state.statement = statement
        _statement(state, statement)


def _statement(state: State, statement: ast.stmt) -> None:
    match statement:
        case ast.Assign():
            given = given_by(state, statement.value)
            for target in statement.targets:
                assign(state, target, given)
        case ast.AnnAssign(value=ast.expr() as value):
            with state.unrecorded():
                value_of(state, statement.annotation)
            assign(state, statement.target, given_by(state, value))
        case ast.AugAssign():
            augmented(state, statement)
        case ast.Expr():
            value_of(state, statement.value)
        case ast.Assert():
            _assert(state, statement)
        case ast.Return():
            _return(state, statement)
        case _:
            _compound(state, statement)


def _compound(state: State, statement: ast.stmt) -> None:
    match statement:
        case ast.For():
            run_for(state, statement, run_block)
        case ast.While():
            run_while(state, statement, run_block)
        case ast.If():
            _if(state, statement)
        case ast.With():
            for item in statement.items:
                value_of(state, item.context_expr)
                if item.optional_vars is not None:
                    assign(state, item.optional_vars, Given())
            run_block(state, statement.body)
        case ast.Try():
            run_block(state, [*statement.body, *statement.orelse, *statement.finalbody])
        case _:
            _hide(state, statement)


def _hide(state: State, statement: ast.stmt) -> None:
    """A definition inside the kernel may read and write whatever it names."""
    names = (node.id for node in ast.walk(statement) if isinstance(node, ast.Name))
    state.flow.hidden.update(names)
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        escape(state, statement)
        state.bind(statement.name, NOTHING_KNOWN, None)


def _assert(state: State, statement: ast.Assert) -> None:
    with state.unrecorded():
        value_of(state, statement.test)
    for equality in asserted(statement):
        values = [state.flow.value(side) for side in (equality.left, *equality.comparators)]
        if not state.branches:
            for left, right in pairwise(values):
                _unify(state, left, right)


def _unify(state: State, left: Value, right: Value) -> None:
    if isinstance(left, Items) and isinstance(right, Items):
        if len(left.values) == len(right.values):
            for one, two in zip(left.values, right.values, strict=True):
                _unify(state, one, two)
        return
    one_side, other = ex.as_integer(left), ex.as_integer(right)
    if one_side is not None and other is not None:
        state.unify(one_side, other)


def _return(state: State, statement: ast.Return) -> None:
    if state.frame is not None:
        value = Literal(None) if statement.value is None else value_of(state, statement.value)
        source = state.by_node.get(id(statement.value))
        state.frame.returns(Result(value, source), state.branches)
        return
    state.flow.returns.append(statement)
    if statement.value is None:
        return
    value = value_of(state, statement.value)
    for one in value.values if isinstance(value, Items) else (value,):
        if isinstance(one, View):
            state.operation("return", statement, (one,))
            state.flow.returned.append(one.storage)


def _if(state: State, statement: ast.If) -> None:
    """Each way from the same beginning; afterwards only what holds on all of them."""
    known = ex.truth(state, value_of(state, statement.test))
    state.flow.branches.append(Branch(statement, state.path))
    fact = state.flow.fact(statement.test)
    closes = state.flow.is_older and fact.kind in _VARYING
    local, env, around = state.local, state.env, state.branches
    ways = (statement.body, statement.orelse)
    names: list[dict[str, Binding]] = []
    after: list[dict[str, Value]] = []
    for place, way in enumerate(ways):
        state.local, state.env = dict(local), dict(env)
        with state.inside(Region(statement, None, closes)):
            if known is None:
                state.branches = (*around, statement.lineno * 2 + place)
                run_block(state, way)
            elif known is not bool(place):
                run_block(state, way)
            else:
                with state.unrecorded():
                    run_block(state, way)
        names.append(state.local)
        after.append(state.env)
    state.branches = around
    state.local = _joined_names(names[0], names[1], _leaves(ways[0]), _leaves(ways[1]))
    if known is not None:
        state.env = after[0 if known else 1]
    else:
        _join_values(state, statement, after, env)


def _join_values(
    state: State, statement: ast.If, after: list[dict[str, Value]], before: dict[str, Value]
) -> None:
    ways = zip((statement.body, statement.orelse), after, strict=True)
    staying = [env for way, env in ways if not _leaves(way)]
    state.env = _joined(staying) if staying else before
    lost = [v for env in staying for n, v in env.items() if v is not state.env.get(n)]
    views = tuple(value for value in lost if isinstance(value, View))
    if views:
        state.operation("forget", statement, views)


def _leaves(way: list[ast.stmt]) -> bool:
    return bool(way) and isinstance(way[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _joined(ways: list[dict[str, Value]]) -> dict[str, Value]:
    first, *others = ways
    joined = dict(first)
    for other in others:
        for name in set(joined) | set(other):
            if name not in joined or name not in other:
                joined[name] = joined.get(name, other.get(name, UNKNOWN))
            else:
                joined[name] = ex.joined(joined[name], other[name])
    return joined


def _joined_names(
    one: dict[str, Binding], two: dict[str, Binding], first: bool, second: bool
) -> dict[str, Binding]:
    """Join what two branches leave; the first, or the second, leaves nothing if it returns."""
    if first or second:
        return two if first else one
    joined = dict(two)
    for name, left in one.items():
        right = two.get(name)
        if right is None:
            joined[name] = left
        elif left is not right:
            fact = joined_fact(left.fact, right.fact)
            joined[name] = Binding(
                name, right.statement, right.value, fact, right.before, right.path
            )
    return joined
