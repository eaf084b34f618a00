"""Arithmetic over a spec's dimensions, evaluated without ever running the text as Python.

Known: ``+ - * / ** //``, unary minus and plus, numbers, dimension names, indexing of
list-valued dimensions, and the helpers ``adjacent_prod_sum``, ``ceil_div``, ``min``, ``max``.
"""

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from tilewright.errors import TilewrightError
from tilewright.problems.model import Dim
from tilewright.python_syntax import parse_expression

Number = int | float
_Value = Number | tuple["_Value", ...] | str

MAX_LENGTH = 2000
MAX_DEPTH = 60
MAX_EXPONENT = 64
MAX_MAGNITUDE = 10**30


class FormulaError(TilewrightError):
    """A formula that is not arithmetic over the dimensions; the message names the piece."""


def evaluate(formula: str, dims: Mapping[str, Dim]) -> Number:
    """The value of ``formula``; raises FormulaError for whatever is not arithmetic."""
    if len(formula) > MAX_LENGTH:
        raise FormulaError(f"the formula is longer than {MAX_LENGTH} characters")
    try:
        tree = parse_expression(formula.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(f"'{_short(formula)}' is not an arithmetic expression") from None
    return _number(_Evaluator(dims).value(tree.body, 0), tree.body)


class _Evaluator:
    def __init__(self, dims: Mapping[str, Dim]) -> None:
        self._dims = dims

    def value(self, node: ast.expr, depth: int) -> _Value:
        if depth > MAX_DEPTH:
            raise FormulaError(f"the formula is nested more than {MAX_DEPTH} levels deep")
        match node:
            case ast.Constant(value=bool() | int() | float() as number):
                return _bounded(number, node)
            case ast.Name(id=name):
                return self._dim(name)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
                inner = _number(self.value(operand, depth + 1), operand)
                return -inner if isinstance(sign, ast.USub) else inner
            case ast.BinOp(left=left, op=op, right=right):
                first = _number(self.value(left, depth + 1), left)
                second = _number(self.value(right, depth + 1), right)
                return _binary(op, first, second, node)
            case ast.Subscript(value=base, slice=index):
                return self._item(base, index, depth)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _HELPERS:
                return self._call(name, args, node, depth)
        raise FormulaError(f"'{_text(node)}' is not allowed in a formula; {_ALLOWED}")

    def _dim(self, name: str) -> _Value:
        if name not in self._dims:
            known = ", ".join(self._dims) or "none"
            raise FormulaError(f"'{name}' is not a dimension of this variant (it has: {known})")
        return self._dims[name]

    def _item(self, base: ast.expr, index: ast.expr, depth: int) -> _Value:
        sequence = self.value(base, depth + 1)
        place = self.value(index, depth + 1)
        if not isinstance(sequence, tuple):
            raise FormulaError(f"'{_text(base)}' is not a list, so it cannot be indexed")
        if not isinstance(place, int) or not -len(sequence) <= place < len(sequence):
            raise FormulaError(
                f"'{_text(base)}' has {len(sequence)} elements; '{_text(index)}' is none of them"
            )
        return sequence[place]

    def _call(self, name: str, args: list[ast.expr], node: ast.expr, depth: int) -> _Value:
        flat = [n for arg in args for n in _flatten(self.value(arg, depth + 1), arg)]
        try:
            return _bounded(_HELPERS[name](flat), node)
        except (ValueError, ZeroDivisionError, OverflowError) as problem:
            raise FormulaError(f"'{_text(node)}' cannot be computed: {problem}") from None


def _adjacent_prod_sum(values: list[Number]) -> Number:
    """Sum of products of neighbours: the multiply-adds of a chain of layers of these widths."""
    return sum(a * b for a, b in pairwise(values))


def _ceil_div(values: list[Number]) -> Number:
    if len(values) != 2:
        raise ValueError("ceil_div takes two numbers")
    return -(-values[0] // values[1])


_HELPERS: Mapping[str, Callable[[list[Number]], Number]] = {
    "adjacent_prod_sum": _adjacent_prod_sum,
    "ceil_div": _ceil_div,
    "max": max,
    "min": min,
}
_OPERATORS: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_ALLOWED = "allowed are numbers, dimension names, + - * / // **, list indexing and " + ", ".join(
    sorted(_HELPERS)
)


def _binary(op: ast.operator, left: Number, right: Number, node: ast.expr) -> Number:
    try:
        if isinstance(op, ast.Pow):
            return _power(left, right, node)
        if type(op) in _OPERATORS:
            return _bounded(_OPERATORS[type(op)](left, right), node)
    except (ZeroDivisionError, OverflowError) as problem:
        raise FormulaError(f"'{_text(node)}' cannot be computed: {problem}") from None
    raise FormulaError(f"the operator of '{_text(node)}' is not allowed in a formula; {_ALLOWED}")


def _power(base: Number, exponent: Number, node: ast.expr) -> Number:
    if abs(exponent) > MAX_EXPONENT:
        raise FormulaError(f"the exponent of '{_text(node)}' is larger than {MAX_EXPONENT}")
    result = base**exponent
    if isinstance(result, complex):
        raise FormulaError(f"'{_text(node)}' is not a real number")
    return _bounded(result, node)


def _bounded(value: Number, node: ast.expr) -> Number:
    if isinstance(value, float) and not math.isfinite(value):
        raise FormulaError(f"'{_text(node)}' is not a finite number")
    if abs(value) > MAX_MAGNITUDE:
        raise FormulaError(f"'{_text(node)}' is beyond {MAX_MAGNITUDE:.0e}")
    return value


def _number(value: _Value, node: ast.expr) -> Number:
    if isinstance(value, int | float):
        return value
    what = "a list" if isinstance(value, tuple) else f"the text '{_short(value)}'"
    raise FormulaError(f"'{_text(node)}' is {what}, not a number")


def _flatten(value: _Value, node: ast.expr) -> Iterator[Number]:
    if isinstance(value, tuple):
        for element in value:
            yield from _flatten(element, node)
    else:
        yield _number(value, node)


def _text(node: ast.expr) -> str:
    return _short(ast.unparse(node))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
