"""Running the statements of small functions, and of a module level, over known values."""

import ast
from collections.abc import Sequence
from typing import Any, Protocol

from tilewright.python_syntax import parameter_defaults
from tilewright.source.callables import Undecidable, bounded

Scope = dict[str, Any]


class Values(Protocol):
    """Evaluates expressions in a scope, and binds targets in it; raises ``Undecidable``."""

    def value(self, node: ast.expr, scope: Scope | None = None) -> Any: ...

    def bind(self, target: ast.expr, value: Any, scope: Scope) -> None: ...

    def operate(self, op: ast.operator, left: Any, right: Any) -> Any: ...


class _Return(Exception):  # noqa: N818 - control flow, not an error
    def __init__(self, value: Any) -> None:
        self.value = value


class _Continue(Exception):  # noqa: N818 - control flow, not an error
    pass


class _Break(Exception):  # noqa: N818 - control flow, not an error
    pass


def call(
    values: Values, function: ast.FunctionDef, arguments: list[Any], keywords: dict[str, Any]
) -> Any:
    """What a function of the file returns for known arguments."""
    given = function.args
    if given.vararg or given.kwarg or given.posonlyargs:
        raise Undecidable
    names = [parameter.arg for parameter in (*given.args, *given.kwonlyargs)]
    scope: Scope = dict(zip((a.arg for a in given.args), arguments, strict=False))
    for parameter, default in parameter_defaults(given):
        if parameter.arg not in scope and default is not None:
            scope[parameter.arg] = values.value(default)
    scope.update(keywords)
    if len(arguments) > len(given.args) or set(scope) != set(names):
        raise Undecidable
    try:
        run(values, function.body, scope)
    except _Return as returned:
        return returned.value
    return None


def run(values: Values, body: Sequence[ast.stmt], scope: Scope) -> None:
    """Run statements; what they bind is in ``scope`` afterwards."""
    for statement in body:
        match statement:
            case ast.Return():
                value = statement.value
                raise _Return(None if value is None else values.value(value, scope))
            case ast.If():
                taken = values.value(statement.test, scope)
                run(values, statement.body if taken else statement.orelse, scope)
            case ast.For():
                _for(values, statement, scope)
            case ast.Continue():
                raise _Continue
            case ast.Break():
                raise _Break
            case _:
                _simple(values, statement, scope)


def _simple(values: Values, statement: ast.stmt, scope: Scope) -> None:
    match statement:
        case ast.Assign():
            value = values.value(statement.value, scope)
            for target in statement.targets:
                values.bind(target, value, scope)
        case ast.AnnAssign(value=ast.expr() as given):
            values.bind(statement.target, values.value(given, scope), scope)
        case ast.AugAssign():
            _augment(values, statement, scope)
        case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Assert():
            pass
        case ast.Expr():
            values.value(statement.value, scope)
        case _:
            raise Undecidable


def _augment(values: Values, statement: ast.AugAssign, scope: Scope) -> None:
    if not isinstance(statement.target, ast.Name):
        raise Undecidable
    name = statement.target.id
    before = values.value(ast.Name(name, ast.Load()), scope)
    given = values.value(statement.value, scope)
    if isinstance(before, list) and isinstance(statement.op, ast.Add):
        before.extend(bounded(list(given)))
        scope[name] = bounded(before)
    else:
        scope[name] = values.operate(statement.op, before, given)


def _for(values: Values, statement: ast.For, scope: Scope) -> None:
    for item in values.value(statement.iter, scope):
        values.bind(statement.target, item, scope)
        try:
            run(values, statement.body, scope)
        except _Continue:
            continue
        except _Break:
            return
    run(values, statement.orelse, scope)
