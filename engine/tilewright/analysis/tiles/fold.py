"""Python arithmetic on what is known when a kernel is compiled."""

import operator
from collections.abc import Callable
from typing import Any

from tilewright.analysis.tiles.model import Constant, TileFacts
from tilewright.source.constants import ARITHMETIC, ORDER

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    **{op.__name__: of for op, of in (*ARITHMETIC.items(), *ORDER.items())},
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "BitXor": operator.xor,
    "Is": lambda a, b: a is b if b is None else a == b,
    "IsNot": lambda a, b: a is not b if b is None else a != b,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "USub": operator.neg,
    "UAdd": operator.pos,
    "Not": operator.not_,
    "Invert": operator.invert,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cdiv": lambda a, b: -(-a // b),
    "next_power_of_2": lambda n: 1 << max(0, n - 1).bit_length(),
    "min": min,
    "max": max,
    "abs": abs,
    "int": int,
    "float": float,
    "bool": bool,
    "len": len,
}
_MAX = 1 << 128


def binary(name: str, one: Constant | None, two: Constant | None) -> Constant | None:
    """``one + two`` and its like, comparisons too."""
    return None if one is None or two is None else _run(_BINARY.get(name), one.value, two.value)


def unary(name: str, one: Constant | None) -> Constant | None:
    return None if one is None else _run(_UNARY.get(name), one.value)


def function(name: str, given: list[Constant | None]) -> Constant | None:
    """A call of a function that Triton evaluates when it compiles."""
    known = [c.value for c in given if c is not None]
    return _run(_FUNCTIONS.get(name), *known) if len(known) == len(given) else None


def member(one: Constant | None, container: TileFacts, is_in: bool) -> Constant | None:
    """``one in (a, b)``."""
    items = [item.constant for item in container.items or ()]
    if one is None or container.items is None or None in items:
        return None
    return Constant((one.value in [c.value for c in items if c is not None]) == is_in)


def truth(constant: Constant | None) -> bool | None:
    """Whether a condition holds, if that is known."""
    return None if constant is None else bool(constant.value)


def _run(function: Callable[..., Any] | None, *given: Any) -> Constant | None:
    if function is None or any(isinstance(g, int) and abs(g) > _MAX for g in given):
        return None
    if function in (operator.mul, operator.mod) and any(isinstance(g, str) for g in given):
        # A text may be repeated or padded to any length.
        return None
    try:
        if function in (operator.pow, operator.lshift) and not -1 < given[1] < 64:
            return None
        value = function(*given)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return Constant(value) if isinstance(value, int | float | bool | str) else None
