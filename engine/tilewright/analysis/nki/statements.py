"""Statements of an NKI kernel, interpreted in order; branches are joined."""

import ast
from collections.abc import Iterable
from itertools import pairwise

import tilewright.analysis.nki.expressions as ex
from tilewright.analysis.nki.assigning import assign, augmented
from tilewright.analysis.nki.calls import used
from tilewright.analysis.nki.evaluate import escape, value_of
from tilewright.analysis.nki.loops import run_for, run_while
from tilewright.analysis.nki.model import View
from tilewright.analysis.nki.parameters import asserted
from tilewright.analysis.nki.state import UNKNOWN, Items, State, Value


def run_block(state: State, statements: Iterable[ast.stmt]) -> None:
    """Interpret statements in order."""
    for statement in statements:
        state.statement = statement
        _statement(state, statement)


def _statement(state: State, statement: ast.stmt) -> None:
    match statement:
        case ast.Assign():
            value = value_of(state, statement.value)
            for target in statement.targets:
                assign(state, target, value, statement)
        case ast.AnnAssign() if statement.value is not None:
            assign(state, statement.target, value_of(state, statement.value), statement)
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
        case ast.FunctionDef() | ast.ClassDef():
            escape(state, statement)
        case ast.If():
            _if(state, statement)
        case ast.With():
            for item in statement.items:
                value_of(state, item.context_expr)
            run_block(state, statement.body)
        case ast.Try():
            run_block(state, statement.body)
            _branch(state, statement, statement.orelse + statement.finalbody)


def _assert(state: State, statement: ast.Assert) -> None:
    for equality in asserted(statement):
        values = [value_of(state, side) for side in (equality.left, *equality.comparators)]
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
    if statement.value is None:
        return
    value = value_of(state, statement.value)
    for one in value.values if isinstance(value, Items) else (value,):
        if isinstance(one, View):
            state.operations.append(used(state, "return", statement, (one,)))
            state.returned.append(one.storage)


def _if(state: State, statement: ast.If) -> None:
    known = ex.truth(state, value_of(state, statement.test))
    if known is not None:
        run_block(state, statement.body if known else statement.orelse)
        return
    _branch(state, statement, statement.body, statement.orelse)


def _branch(state: State, node: ast.stmt, *ways: list[ast.stmt]) -> None:
    """Each way from the same beginning; afterwards only what holds on all of them."""
    before, around = dict(state.env), state.branches
    after: list[dict[str, Value]] = []
    for place, way in enumerate(ways):
        state.env = dict(before)
        state.branches = (*around, node.lineno * 2 + place)
        run_block(state, way)
        if not _leaves(way):
            after.append(state.env)
    if len(ways) == 1:
        after.append(before)
    state.branches = around
    state.env = _joined(after) if after else before
    lost = [v for way in after for n, v in way.items() if v is not state.env.get(n)]
    views = tuple(value for value in lost if isinstance(value, View))
    if views:
        state.operations.append(used(state, "forget", node, views))


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
