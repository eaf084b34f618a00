"""Operators and functions of Python that the evaluated text may use."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from tilewright.analysis.instances.model import Unknown

FAILURES = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError)
"""What operations on values of the wrong kind raise."""
LEAST_BLOCK = 8
"""Powers of two from here on are taken for lengths of blocks."""
BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.RShift: operator.rshift,
    ast.LShift: operator.lshift,
}
COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
PLAIN = (int, float, str, tuple, list, dict, type(None))


def has_unknown(value: object) -> bool:
    """Whether some element of a list is not known."""
    return isinstance(value, tuple | list) and any(isinstance(part, Unknown) for part in value)


def is_block(value: object) -> bool:
    """Whether a number may be the length of a block: a power of two of some size."""
    return type(value) is int and value >= LEAST_BLOCK and value.bit_count() == 1


BUILTINS = frozenset(
    ("min", "max", "abs", "len", "int", "float", "bool", "range", "tuple", "list", "sum", "print",
     "isinstance", "getattr", "zip", "enumerate", "sorted", "reversed")
)  # fmt: skip
BUILTIN_CALLS: Mapping[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "len": len,
    "int": int,
    "float": float,
    "bool": bool,
    "range": range,
    "tuple": tuple,
    "list": list,
    "sum": sum,
    "sorted": sorted,
    "reversed": lambda values: tuple(reversed(values)),
    "enumerate": lambda values: tuple(enumerate(values)),
    "zip": lambda *values: tuple(zip(*values, strict=False)),
}
