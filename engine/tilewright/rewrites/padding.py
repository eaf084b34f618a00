"""What the lanes beyond a row's end hold, and whether a reduction may take them in.

A masked load gives its ``other`` there. A value that depends on nothing else can be derived; all
scalars are taken to be finite, as in the kernel's own ragged last block.
"""

import ast
import math
from collections.abc import Callable, Mapping

from tilewright.rewrites.scope import argument, is_tl_call, tl_name
from tilewright.source.model import Module

_UNARY: Mapping[str, Callable[[float], float]] = {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "abs": abs,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
}
NEUTRAL: Mapping[str, float] = {"sum": 0.0, "max": -math.inf, "min": math.inf}


class Padding:
    """Values of padded lanes in one loop body, statement after statement."""

    def __init__(self, module: Module, is_row_mask: Callable[[ast.expr], bool]) -> None:
        self._module = module
        self._is_row_mask = is_row_mask
        self._names: dict[str, float | None] = {}

    def see(self, name: str, value: ast.expr) -> None:
        """Remember what a name's padded lanes hold from here on."""
        self._names[name] = self.value_of(value)

    def value_of(self, node: ast.expr | None) -> float | None:
        """The value of an expression's padded lanes; None where it cannot be derived."""
        match node:
            case ast.Constant(value=bool()):
                return None
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name):
                return self._names.get(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self.value_of(operand)
                return None if value is None else -value
            case ast.BinOp(left=left, op=op, right=right):
                return _binary(op, self.value_of(left), self.value_of(right))
            case ast.Call():
                return self._call_value(node)
        return None

    def _call_value(self, node: ast.Call) -> float | None:
        infinity = _infinity(node)
        if infinity is not None:
            return infinity
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            return self.value_of(node.func.value)
        name = tl_name(self._module, node.func)
        if name == "load":
            mask = argument(node, 1, "mask")
            masked = mask is not None and self._is_row_mask(mask)
            return self.value_of(argument(node, 2, "other")) if masked else None
        if name == "where" and len(node.args) == 3 and self._is_row_mask(node.args[0]):
            return self.value_of(node.args[2])
        if name in ("maximum", "minimum") and len(node.args) == 2:
            a, b = self.value_of(node.args[0]), self.value_of(node.args[1])
            if a is None or b is None:
                return None
            return max(a, b) if name == "maximum" else min(a, b)
        if name is not None and name in _UNARY and len(node.args) == 1:
            return _applied(_UNARY[name], self.value_of(node.args[0]))
        return None

    def is_neutral(self, node: ast.expr, reduction: str) -> bool:
        """Whether padded lanes of a value leave a sum, a maximum or a minimum as it is."""
        return self.value_of(node) == NEUTRAL[reduction]


def _infinity(node: ast.Call) -> float | None:
    """The value of ``float("-inf")`` and its like."""
    match node:
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as text)]):
            if text.lower().lstrip("+-") in ("inf", "infinity"):
                return float(text)
    return None


def _applied(function: Callable[[float], float], value: float | None) -> float | None:
    try:
        return None if value is None else function(value)
    except (ValueError, OverflowError):
        return None


def _binary(op: ast.operator, a: float | None, b: float | None) -> float | None:
    if isinstance(op, ast.Mult):
        if a is not None and b is not None:
            return _settled(a * b)
        return 0.0 if 0.0 in (a, b) else None
    if isinstance(op, ast.Add | ast.Sub):
        sign = 1.0 if isinstance(op, ast.Add) else -1.0
        if a is not None and b is not None:
            return _settled(a + sign * b)
        if a is not None and math.isinf(a):
            return a
        return sign * b if b is not None and math.isinf(b) else None
    if isinstance(op, ast.Div):
        if a == 0.0 and b != 0.0:
            return 0.0
        return _settled(a / b) if a is not None and b else None
    return None


def _settled(value: float) -> float | None:
    return None if math.isnan(value) else value


def masked_around(prefix: str, mask: str, reduction: str) -> tuple[str, str]:
    """What to write before and after a value so that its padded lanes become neutral."""
    neutral = {"sum": "0.0", "max": 'float("-inf")', "min": 'float("inf")'}[reduction]
    return f"{prefix}where({mask}, ", f", {neutral})"


def reduction_of(module: Module, node: ast.AST) -> str | None:
    """ "sum", "max" or "min" for a call that reduces; "other" for one that cannot be judged."""
    if not isinstance(node, ast.Call):
        return None
    name = tl_name(module, node.func)
    if name in NEUTRAL:
        return name
    scans = ("argmax", "argmin", "reduce", "cumsum", "cumprod", "associative_scan", "sort")
    more = ("xor_sum", "histogram", "dot", "reshape", "view", "trans")
    return "other" if is_tl_call(module, node, *scans, *more) else None
