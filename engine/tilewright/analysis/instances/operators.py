"""Operators and functions of Python that the evaluated text may use."""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tilewright.analysis.instances.model import UNKNOWN, Unfollowed, Unknown
from tilewright.source.constants import ARITHMETIC

FAILURES = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError)
"""What operations on values of the wrong kind raise."""
LEAST_BLOCK = 8
LEAST_SCALED = 4
"""What the shortest block is made where lengths of blocks are scaled."""
"""Powers of two from here on are taken for lengths of blocks."""
GREATEST = 1 << 62
"""Greater numbers are not followed: no size is one, and their digits could double for ever."""
LONGEST = 1 << 12
"""Longer texts and lists are not followed."""
_MOST_NESTED = 6
CONTAINERS = (tuple, list, dict)
SAME_SHAPE = frozenset(
    ("to", "float", "half", "bfloat16", "double", "int", "long", "clone", "cuda", "cpu", "abs",
     "exp", "neg", "type", "bool", "sigmoid", "log", "sqrt")
)  # fmt: skip
READ = frozenset(("sum", "mean", "amax", "amin", "argmax", "argmin", "item", "tolist", "any"))
"""What reads a tensor whole and makes another one of it."""
RESHAPES = frozenset(
    ("resize_", "resize_as_", "squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", "set_")
)
PLAIN = (int, float, str, tuple, list, dict, type(None))


def has_unknown(value: object) -> bool:
    """Whether some element of a list is not known."""
    return isinstance(value, tuple | list) and any(isinstance(part, Unknown) for part in value)


def small_power(one: Any, two: Any) -> Any:
    """``one ** two``; raises OverflowError where it would have more digits than any size has."""
    return operator.pow(one, _small(two))


def small_shift(one: Any, two: Any) -> Any:
    """``one << two``; raises OverflowError where it would have more digits than any size has."""
    return operator.lshift(one, _small(two))


def _small(exponent: Any) -> Any:
    if not 0 <= exponent < GREATEST.bit_length():
        raise OverflowError(f"an exponent of {exponent}")
    return exponent


def containers_in(value: object, depth: int = 0) -> Iterator[object]:
    """The containers within a container.

    Raises Unfollowed where they are nested so deeply that looking at all could take for ever.
    """
    if not isinstance(value, CONTAINERS):
        return
    if depth > _MOST_NESTED:
        raise Unfollowed("values in values")
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, CONTAINERS):
            yield part
            yield from containers_in(part, depth + 1)


CONTAINER_METHODS = frozenset(
    ("append", "extend", "insert", "pop", "index", "count", "reverse", "copy", "get", "update",
     "setdefault", "clear", "remove", "sort", "popitem")
)  # fmt: skip


def container_call(
    owner: Any, name: str, given: list[Any], named: Mapping[str, Any] | None = None
) -> Any:
    """``owner.name(...)`` of a list or dictionary, which may change it.

    Raises Unfollowed where what it holds afterwards is not known.
    """
    added = sum(len(part) for part in given if isinstance(part, tuple | list | dict))
    is_open = isinstance(given[0], Unknown) if given and name != "append" else False
    if is_open or len(owner) + added > LONGEST:
        raise Unfollowed("a list is changed")
    try:
        return getattr(owner, name)(*given, **(named or {}))
    except FAILURES as error:
        raise Unfollowed("a list is changed") from error


def truncated(one: Any, two: Any) -> Any:
    """``one // two`` of numbers that a kernel computes: towards 0, unlike Python's."""
    return one // two if (one < 0) == (two < 0) else -(-one // two)


def remainder(one: Any, two: Any) -> Any:
    """``one % two`` of numbers that a kernel computes, with the sign of ``one``."""
    return one - two * truncated(one, two)


def is_block(value: object) -> bool:
    """Whether a number may be the length of a block: a power of two of some size."""
    return type(value) is int and value >= LEAST_BLOCK and value.bit_count() == 1


GROWING = frozenset((operator.mul, small_power, small_shift))
"""Operators whose results may have many more digits than their operands."""
BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    **ARITHMETIC,
    ast.Pow: small_power,
    ast.BitXor: operator.xor,
    ast.LShift: small_shift,
}
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


def plain_result(op: type[ast.operator], one: Any, two: Any) -> Any:
    """``one op two`` of Python's own values; UNKNOWN where it would be too great or too long."""
    if isinstance(one, str | tuple | list) or isinstance(two, str | tuple | list):
        return _sequence(op, one, two)
    try:
        result = BINARY[op](one, two) if op in BINARY else UNKNOWN
    except OverflowError:
        return UNKNOWN
    return UNKNOWN if isinstance(result, int) and abs(result) > GREATEST else result


def _sequence(op: type[ast.operator], one: Any, two: Any) -> Any:
    """A text or list put behind another, or repeated."""
    if op is ast.Add and type(one) is type(two) and len(one) + len(two) <= LONGEST:
        return one + two
    part, count = (two, one) if isinstance(one, int) else (one, two)
    if op is ast.Mult and isinstance(count, int) and len(part) * count <= LONGEST:
        return part * count
    return UNKNOWN


def is_negated(test: ast.expr) -> bool:
    """Whether a condition is the opposite of another one."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not is_negated(inner)
        case ast.Compare(ops=[ast.NotEq()]):
            return True
    return False
