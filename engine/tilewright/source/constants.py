"""A tiny evaluator of the Python that autotune lists are written in.

Literals, arithmetic, comprehensions, module constants and small helper functions. It runs
nothing of the user's: what it does not know is ``Undecidable``, and the work is bounded.
"""

import ast
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tilewright.source.names import Names

_MAX_STEPS = 50_000
_MAX_DEPTH = 40
_MAX_NUMBER = 1 << 128

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_CALLS: dict[str, Callable[..., Any]] = {
    "range": range,
    "len": len,
    "min": min,
    "max": max,
    "list": list,
    "tuple": tuple,
    "int": int,
    "str": str,
    "dict": dict,
    "sorted": sorted,
    "zip": zip,
    "itertools.product": itertools.product,
}


class Undecidable(Exception):  # noqa: N818 - an answer, not an error
    """The value cannot be told from the text alone."""


class Evaluator:
    """Evaluates expressions against a file's module-level constants and functions.

    Args:
        constants: module-level names assigned once, with their expressions.
        functions: module-level functions.
        names: to resolve ``triton.Config`` and ``itertools.product`` through imports.
        make: called for every call of a dotted name in ``makes``, with the call and the
            evaluated positional and keyword arguments.
    """

    def __init__(
        self,
        constants: Mapping[str, ast.expr],
        functions: Mapping[str, ast.FunctionDef],
        names: Names,
        makes: Mapping[str, Callable[[ast.Call, "Evaluator", dict[str, Any]], Any]] | None = None,
    ) -> None:
        self._constants = constants
        self._functions = functions
        self._names = names
        self._makes = makes or {}
        self._steps = 0
        self._depth = 0

    def value(self, node: ast.expr, scope: dict[str, Any] | None = None) -> Any:
        """The value of ``node``; raises ``Undecidable``."""
        self._steps += 1
        if self._steps > _MAX_STEPS or self._depth > _MAX_DEPTH:
            raise Undecidable
        self._depth += 1
        try:
            return self._value(node, {} if scope is None else scope)
        except (TypeError, ValueError, KeyError, IndexError, ArithmeticError) as error:
            raise Undecidable from error
        finally:
            self._depth -= 1

    def _value(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node.id, scope)
            case ast.List() | ast.Tuple() | ast.Set():
                return self._elements(node.elts, scope)
            case ast.Dict():
                return self._dict(node, scope)
            case ast.ListComp() | ast.GeneratorExp():
                return [self.value(node.elt, s) for s in self._scopes(node.generators, scope)]
            case ast.Call():
                return self._call(node, scope)
            case _:
                return self._operation(node, scope)

    def _operation(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        match node:
            case ast.BinOp():
                return self._binary(node, scope)
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
                return self.value(node.value, scope)[self.value(node.slice, scope)]
            case _:
                raise Undecidable

    def _name(self, name: str, scope: dict[str, Any]) -> Any:
        if name in scope:
            return scope[name]
        if name in self._constants:
            return self.value(self._constants[name])
        raise Undecidable

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

    def _binary(self, node: ast.BinOp, scope: dict[str, Any]) -> Any:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        if isinstance(node.op, ast.Pow) and 0 <= right <= 64 and abs(left) <= 1024:
            return left**right
        if isinstance(node.op, ast.LShift) and 0 <= right <= 64:
            return left << right
        if type(node.op) not in _BINARY:
            raise Undecidable
        if isinstance(left, list | str) and isinstance(node.op, ast.Mult) and right > 1000:
            raise Undecidable
        value = _BINARY[type(node.op)](left, right)
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
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "extend", "copy"):
            owner = self.value(node.func.value, scope)
            return getattr(owner, node.func.attr)(*self._elements(node.args, scope))
        arguments = self._elements(node.args, scope)
        keywords = self.keywords(node, scope)
        if isinstance(node.func, ast.Name) and node.func.id in self._functions:
            return self._run(self._functions[node.func.id], arguments, keywords)
        if dotted in _CALLS:
            value = _CALLS[dotted](*arguments, **keywords)
            if isinstance(value, range) and len(value) > _MAX_STEPS:
                raise Undecidable
            return value
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

    def _run(self, function: ast.FunctionDef, args: list[Any], keywords: dict[str, Any]) -> Any:
        parameters = function.args
        if function.decorator_list or parameters.vararg or parameters.kwarg:
            raise Undecidable
        names = [p.arg for p in (*parameters.posonlyargs, *parameters.args)]
        scope: dict[str, Any] = dict(zip(names, args, strict=False))
        for name, default in zip(reversed(names), reversed(parameters.defaults), strict=False):
            scope.setdefault(name, self.value(default))
        scope.update(keywords)
        if len(args) > len(names) or any(name not in scope for name in names):
            raise Undecidable
        done, value = self._body(function.body, scope)
        return value if done else None

    def _body(self, body: list[ast.stmt], scope: dict[str, Any]) -> tuple[bool, Any]:
        for statement in body:
            done, value = self._statement(statement, scope)
            if done:
                return True, value
        return False, None

    def _statement(self, statement: ast.stmt, scope: dict[str, Any]) -> tuple[bool, Any]:
        match statement:
            case ast.Return():
                return True, None if statement.value is None else self.value(statement.value, scope)
            case ast.Assign():
                value = self.value(statement.value, scope)
                for target in statement.targets:
                    self.bind(target, value, scope)
            case ast.AugAssign(op=ast.Add(), target=ast.Name(id=name)):
                scope[name] = self._name(name, scope) + self.value(statement.value, scope)
            case ast.Expr():
                self.value(statement.value, scope)
            case ast.If():
                branch = statement.body if self.value(statement.test, scope) else statement.orelse
                return self._body(branch, scope)
            case ast.For():
                return self._for(statement, scope)
            case ast.Pass():
                pass
            case _:
                raise Undecidable
        return False, None

    def _for(self, statement: ast.For, scope: dict[str, Any]) -> tuple[bool, Any]:
        for item in self.value(statement.iter, scope):
            self.bind(statement.target, item, scope)
            done, value = self._body(statement.body, scope)
            if done:
                return True, value
        return False, None
