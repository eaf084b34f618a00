"""A tiny evaluator of the Python that autotune lists are written in.

Literals, arithmetic, comprehensions, module constants and small helper functions. It runs
nothing of the user's: what it does not know is ``Undecidable``, and the work is bounded.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from functools import partial
from typing import Any, Protocol, runtime_checkable

from tilewright.python_syntax import parameter_defaults
from tilewright.source.callables import CALLS, MAX_ITEMS, Undecidable, bounded, call_method
from tilewright.source.names import Names

__all__ = ["ARITHMETIC", "ORDER", "Evaluator", "Undecidable"]

_MAX_STEPS = 50_000
_CACHES = frozenset(("functools.cache", "functools.lru_cache"))
_MAX_DEPTH = 40
_MAX_NUMBER = 1 << 128

_FAILURES = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError)

ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.RShift: operator.rshift,
}
ORDER: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    **ORDER,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


@runtime_checkable
class Stated(Protocol):
    """A value made from a call, whose attributes are as the call states them."""

    def stated(self, name: str) -> Any:
        """The attribute's value; raises ``Undecidable``."""


class Evaluator:
    """Evaluates expressions against a file's module-level constants and functions.

    Args:
        constants: module-level names assigned once, with their expressions.
        functions: module-level functions.
        names: to resolve ``triton.Config`` and ``itertools.product`` through imports.
        make: called for every call of a dotted name in ``makes``, with the call and the
            evaluated positional and keyword arguments.
        histories: module-level names given or changed by several statements.
        line: what the values are asked for at; histories count up to there.
        assume: the value that an expression is taken to have, by its node and the names known
            there; None where it is evaluated.
    """

    def __init__(
        self,
        constants: Mapping[str, ast.expr],
        functions: Mapping[str, ast.FunctionDef],
        names: Names,
        makes: Mapping[str, Callable[[ast.Call, "Evaluator", dict[str, Any]], Any]] | None = None,
        histories: Mapping[str, tuple[ast.stmt, ...]] | None = None,
        line: int | None = None,
        assume: Callable[[ast.expr, Mapping[str, Any]], Any] | None = None,
    ) -> None:
        self._constants = constants
        self._functions = functions
        self._names = names
        self._makes = makes or {}
        self._histories = histories or {}
        self._line = line
        self._assume = assume
        self._steps = 0
        self._depth = 0

    def value(self, node: ast.expr, scope: dict[str, Any] | None = None) -> Any:
        """The value of ``node``; raises ``Undecidable``."""
        self._steps += 1
        if self._steps > _MAX_STEPS or self._depth > _MAX_DEPTH:
            raise Undecidable
        self._depth += 1
        scope = {} if scope is None else scope
        try:
            assumed = None if self._assume is None else self._assume(node, scope)
            return self._value(node, scope) if assumed is None else assumed
        except _FAILURES as error:
            raise Undecidable from error
        finally:
            self._depth -= 1

    def _value(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node.id, scope)
            case ast.List() | ast.Set():
                return self._elements(node.elts, scope)
            case ast.Tuple():
                return tuple(self._elements(node.elts, scope))
            case ast.Dict():
                return self._dict(node, scope)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                return [self.value(node.elt, s) for s in self._scopes(node.generators, scope)]
            case ast.DictComp():
                inner = self._scopes(node.generators, scope)
                return {self.value(node.key, s): self.value(node.value, s) for s in inner}
            case ast.Call():
                return self._call(node, scope)
            case ast.Lambda():
                return self._lambda(node, scope)
            case _:
                return self._operation(node, scope)

    def _operation(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        match node:
            case ast.BinOp():
                left, right = self.value(node.left, scope), self.value(node.right, scope)
                return self.operate(node.op, left, right)
            case ast.UnaryOp(op=ast.USub()):
                return -self.value(node.operand, scope)
            case ast.UnaryOp(op=ast.Not()):
                return not self.value(node.operand, scope)
            case ast.Compare():
                return self._compare(node, scope)
            case ast.BoolOp():
                return self._bool(node, scope)
            case ast.IfExp():
                return self.value(node.body if self.value(node.test, scope) else node.orelse, scope)
            case ast.Subscript():
                return self.value(node.value, scope)[self._index(node.slice, scope)]
            case ast.Attribute():
                return self._attribute(node, scope)
            case _:
                raise Undecidable

    def _index(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        if not isinstance(node, ast.Slice):
            return self.value(node, scope)
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.value(part, scope) for part in parts))

    def _attribute(self, node: ast.Attribute, scope: dict[str, Any]) -> Any:
        """``config.kwargs`` or ``config.num_warps``, of a value made by one of the ``makes``."""
        owner = self.value(node.value, scope)
        if not isinstance(owner, Stated):
            raise Undecidable
        return owner.stated(node.attr)

    def _name(self, name: str, scope: dict[str, Any]) -> Any:
        if name in scope:
            return scope[name]
        if name in self._constants:
            return self.value(self._constants[name])
        if name in self._histories:
            module: dict[str, Any] = {}
            line = self._line
            past = [s for s in self._histories[name] if line is None or s.lineno < line]
            run(self, past, module)
            return module[name]
        if name in self._functions:
            return partial(self._run, self._functions[name])
        if name in CALLS:
            return CALLS[name]
        raise Undecidable

    def _lambda(self, node: ast.Lambda, scope: dict[str, Any]) -> Callable[..., Any]:
        names = [parameter.arg for parameter in node.args.args]

        def lambda_value(*arguments: Any) -> Any:
            return self.value(node.body, {**scope, **dict(zip(names, arguments, strict=True))})

        return lambda_value

    def _run(self, function: ast.FunctionDef, *arguments: Any, **keywords: Any) -> Any:
        for decorator in function.decorator_list:
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self._names.resolve(target) not in _CACHES:
                raise Undecidable
        return call(self, function, list(arguments), keywords)

    def _elements(self, elements: list[ast.expr], scope: dict[str, Any]) -> list[Any]:
        out: list[Any] = []
        for element in elements:
            if isinstance(element, ast.Starred):
                out.extend(self.value(element.value, scope))
            else:
                out.append(self.value(element, scope))
        return out

    def _dict(self, node: ast.Dict, scope: dict[str, Any]) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                out.update(self.value(value, scope))
            else:
                out[self.value(key, scope)] = self.value(value, scope)
        return out

    def operate(self, op: ast.operator, left: Any, right: Any) -> Any:
        """``left op right``, where the result is of a size that can be looked at."""
        if isinstance(op, ast.Pow) and 0 <= right <= 64 and abs(left) <= 1024:
            return left**right
        if isinstance(op, ast.LShift) and 0 <= right <= 64:
            return left << right
        if type(op) not in ARITHMETIC or (
            isinstance(left, str | bytes) and isinstance(op, ast.Mod)
        ):
            raise Undecidable
        if isinstance(op, ast.Mult):
            for items, times in ((left, right), (right, left)):
                if isinstance(items, Sized) and len(items) * times > MAX_ITEMS:
                    raise Undecidable
        value = bounded(ARITHMETIC[type(op)](left, right))
        if isinstance(value, int) and abs(value) > _MAX_NUMBER:
            raise Undecidable
        return value

    def _compare(self, node: ast.Compare, scope: dict[str, Any]) -> bool:
        left = self.value(node.left, scope)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator, scope)
            if not _COMPARE[type(op)](left, right):
                return False
            left = right
        return True

    def _bool(self, node: ast.BoolOp, scope: dict[str, Any]) -> Any:
        wanted = isinstance(node.op, ast.Or)
        value: Any = not wanted
        for operand in node.values:
            value = self.value(operand, scope)
            if bool(value) is wanted:
                return value
        return value

    def _scopes(
        self, generators: list[ast.comprehension], scope: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        if not generators:
            yield scope
            return
        head, *rest = generators
        for item in self.value(head.iter, scope):
            inner = dict(scope)
            self.bind(head.target, item, inner)
            if all(self.value(test, inner) for test in head.ifs):
                yield from self._scopes(rest, inner)

    def bind(self, target: ast.expr, value: Any, scope: dict[str, Any]) -> None:
        """Assign ``value`` to a name or a tuple of names in ``scope``."""
        if isinstance(target, ast.Name):
            scope[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for part, item in zip(target.elts, value, strict=True):
                self.bind(part, item, scope)
        elif isinstance(target, ast.Subscript):
            self.value(target.value, scope)[self.value(target.slice, scope)] = value
        else:
            raise Undecidable

    def _call(self, node: ast.Call, scope: dict[str, Any]) -> Any:
        dotted = self._names.resolve(node.func) or ""
        if dotted in self._makes:
            return self._makes[dotted](node, self, scope)
        arguments = self._elements(node.args, scope)
        keywords = self.keywords(node, scope)
        if isinstance(node.func, ast.Name):
            name = node.func.id
            known = scope.get(name)
            if known is not None or name in self._functions:
                call = known if callable(known) else partial(self._run, self._functions[name])
                return call(*arguments, **keywords)
            if name in self._constants:
                return self.value(node.func, scope)(*arguments, **keywords)
        if dotted in CALLS:
            return bounded(CALLS[dotted](*arguments, **keywords))
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value, scope)
            return call_method(owner, node.func.attr, arguments, keywords)
        raise Undecidable

    def keywords(self, node: ast.Call, scope: dict[str, Any]) -> dict[str, Any]:
        """The evaluated keyword arguments of a call."""
        out: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                out.update(self.value(keyword.value, scope))
            else:
                out[keyword.arg] = self.value(keyword.value, scope)
        return out


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
