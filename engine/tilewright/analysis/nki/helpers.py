"""Calls of the file's own functions, interpreted where they are called."""

import ast
from collections.abc import Mapping
from functools import reduce

import tilewright.analysis.nki.expressions as ex
from tilewright.analysis.nki.evaluate import value_of
from tilewright.analysis.nki.flow import Call
from tilewright.analysis.nki.model import Fact, View
from tilewright.analysis.nki.state import Frame, Result, State
from tilewright.analysis.nki.statements import run_block
from tilewright.analysis.nki.values import Literal, Many, Value
from tilewright.python_syntax import parameter_defaults
from tilewright.source.model import Module

_MOST_CALLS = 64
_MOST_DEPTH = 4
_NOT_FOLLOWED = ast.Yield | ast.YieldFrom | ast.Await | ast.Global | ast.Nonlocal


def helper_functions(module: Module) -> Mapping[str, ast.FunctionDef]:
    """Functions of the file that a kernel's trace runs through when it calls them."""
    return {
        name: function
        for name, function in module.host_functions.items()
        if not function.decorator_list
        and function.args.vararg is None
        and function.args.kwarg is None
        and not any(isinstance(node, _NOT_FOLLOWED) for node in ast.walk(function))
    }


def follow(state: State, call: Call, function: ast.FunctionDef) -> Value | None:
    """What a call returns, its instructions recorded; None where it is not followed."""
    given = _bound(call, function)
    if given is None or state.depth >= _MOST_DEPTH or state.followed >= _MOST_CALLS:
        return None
    state.followed += 1
    caller = (state.local, state.env, state.statement, state.frame)
    facts = {name: state.flow.fact(node) for name, node in given.items()}
    values = {name: state.flow.value(node) for name, node in given.items()}
    frame = Frame(state.branches)
    state.local, state.env, state.frame = {}, {}, frame
    state.depth += 1
    _enter(state, function, facts, values)
    run_block(state, function.body)
    state.depth -= 1
    state.local, state.env, state.statement, state.frame = caller
    return _returned(state, call, frame)


def _enter(
    state: State,
    function: ast.FunctionDef,
    facts: Mapping[str, Fact],
    values: Mapping[str, Value],
) -> None:
    """Give the parameters their arguments, or their defaults."""
    for argument, default in parameter_defaults(function.args):
        name = argument.arg
        if name in values:
            state.bind(name, facts[name], None)
            state.env[name] = values[name]
        elif default is not None:
            with state.unrecorded():
                value = value_of(state, default)
            state.bind(name, state.flow.fact(default), None)
            state.env[name] = value


def _bound(call: Call, function: ast.FunctionDef) -> dict[str, ast.expr] | None:
    """Arguments by parameter; None where they do not fit, or a list may be changed inside."""
    positional = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if len(call.node.args) > len(positional) or "**" in call.keywords:
        return None
    if any(isinstance(argument, ast.Starred) for argument in call.node.args):
        return None
    if any(isinstance(v, Many) for v in (*call.positional, *call.keywords.values())):
        return None
    given = dict(zip(positional, call.node.args, strict=False))
    given |= {k.arg: k.value for k in call.node.keywords if k.arg is not None}
    known = {a.arg: default for a, default in parameter_defaults(function.args)}
    missing = [name for name, default in known.items() if default is None and name not in given]
    return None if missing or not given.keys() <= known.keys() else given


def _returned(state: State, call: Call, frame: Frame) -> Value:
    results = frame.results
    if not results:
        return Literal(None)
    if not frame.is_over:
        results = [*results, Result(Literal(None), None)]
    if len(results) == 1 and results[0].source is not None:
        state.by_node[id(call.node)] = results[0].source
    value = reduce(ex.joined, [result.value for result in results])
    lost = [r.value for r in results if isinstance(r.value, View) and r.value is not value]
    if lost:
        state.operation("forget", call.node, tuple(lost))
    return value
