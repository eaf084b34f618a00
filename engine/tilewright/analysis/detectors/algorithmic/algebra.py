"""The detector of operations that change nothing, or that a cheaper one replaces exactly."""

from collections.abc import Callable, Iterator

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import Reports, kernel_detector
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.values import Flow, Value
from tilewright.source.model import Kernel, Module

_EXP = (TL + "exp", TL + "math.exp")
_LOG = (TL + "log", TL + "math.log")
_MAXIMUM = (TL + "maximum", TL + "math.max")
_MINIMUM = (TL + "minimum", TL + "math.min")
_CLAMP = (TL + "clamp",)


@kernel_detector("algebraic_simplification", triton_kernels)
def algebraic_simplification(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """An operation on tiles that can go, or be a cheaper one, for every float."""
    reported = set(_compensated(flow))
    for node, value, _ in flow.placed:
        if value in reported:
            continue
        message = next((m for rule in _RULES if (m := rule(value)) is not None), None)
        if message is not None:
            reported.add(value)
            yield node, message


def _compensated(flow: Flow) -> Iterator[Value]:
    """Logarithms of ``u = exp(x)`` next to ``u - 1``: log(u) is to carry the rounding error of u.

    Kahan's expm1, ``(u - 1) * x / log(u)``: see Higham, "Accuracy and Stability of Numerical
    Algorithms", section 1.14.1.
    """
    values = set(flow.values.values())
    differences = (v.operands for v in values if v.is_binary("Sub", "Add"))
    rounded = {one for one, other in differences if abs(_number(other) or 0) == 1}
    for value in values:
        if value.is_call(*_LOG) and value.operands[0] in rounded:
            yield value


def _masked_again(value: Value) -> str | None:
    """``tl.where(m, tl.load(p, mask=m, other=0), 0)``."""
    if not value.is_call(TL + "where") or len(value.positional) != 3:
        return None
    condition, kept, dropped = value.positional
    load = kept.uncast
    if load.op != "load" or load.keyword("mask") is not condition:
        return None
    if pointer_base(load.operands[0]) is None:
        # An extension's memory, whose masked loads may not fill.
        return None
    other = load.keyword("other")
    if other is None or not (other is dropped or _same_number(other, dropped)):
        return None
    return "The load has already put this value where the same mask is false: tl.where is idle."


def _same_choice(value: Value) -> str | None:
    if not value.is_call(TL + "where") or len(value.positional) != 3:
        return None
    condition, one, two = value.positional
    if one is two and one.op != "const":
        # Literals are left alone: 0.0 and -0.0 are one value here.
        return "Both sides of this tl.where are the same value."
    for side, position in ((one, 1), (two, 2)):
        if side.is_call(TL + "where") and side.positional[0] is condition:
            place = "true" if position == 1 else "false"
            return f"The inner tl.where asks the same condition again, known to be {place} there."
    return None


def _bounded(value: Value) -> str | None:
    """A clamp, minimum or maximum that the range of its operand makes idle."""
    if value.is_call(*_CLAMP) and len(value.positional) == 3:
        inner, low, high = value.positional
        known = _range_of(inner)
        if known is None or not (_at_most(low, known[0]) and _at_least(high, known[1])):
            return None
    elif value.is_call(*_MAXIMUM, *_MINIMUM) and len(value.positional) == 2:
        one, two = value.positional
        inner, bound = (two, one) if one.op == "const" else (one, two)
        known = _range_of(inner)
        is_maximum = value.is_call(*_MAXIMUM)
        if known is None:
            return None
        idle = _at_most(bound, known[0]) if is_maximum else _at_least(bound, known[1])
        if not idle:
            return None
    else:
        return None
    name = str(inner.uncast.detail).rpartition(".")[2]
    return f"{name} never leaves this range: the bound changes no value."


def _range_of(value: Value) -> tuple[float, float] | None:
    inner = value.uncast
    if inner.op != "call":
        return None
    name = str(inner.detail).rpartition(".")[2]
    infinity = float("inf")
    known = {"tanh": (-1.0, 1.0), "sigmoid": (0.0, 1.0), "erf": (-1.0, 1.0)}
    known |= {"exp": (0.0, infinity), "exp2": (0.0, infinity), "abs": (0.0, infinity)}
    return known.get(name)


def _at_most(value: Value, bound: float) -> bool:
    number = _number(value)
    return number is not None and number <= bound


def _at_least(value: Value, bound: float) -> bool:
    number = _number(value)
    return number is not None and number >= bound


def _bounded_twice(value: Value) -> str | None:
    """``tl.maximum(tl.maximum(x, 0), 0)``."""
    for family in (_MAXIMUM, _MINIMUM):
        if value.is_call(*family) and len(value.positional) == 2:
            one, two = value.positional
            for inner, bound in ((one, two), (two, one)):
                if inner.is_call(*family) and bound in inner.positional:
                    return "The same bound was applied just before."
    return None


def _undone(value: Value) -> str | None:
    """``tl.log(tl.exp(x))``."""
    if value.is_call(*_LOG) and value.operands[0].is_call(*_EXP):
        return "The logarithm of an exponential is its argument, which cannot overflow."
    if value.is_call(TL + "abs") and value.operands[0].is_call(TL + "abs"):
        return "abs of abs is abs."
    return None


def _square(value: Value) -> str | None:
    """``libdevice.pow(x, 2.0)``; an integer exponent is folded for NVIDIA."""
    if value.op != "call" or not str(value.detail).endswith("pow") or len(value.positional) != 2:
        return None
    base, exponent = value.positional
    if base.op == "const" or not isinstance(exponent.detail, float) or _number(exponent) != 2:
        return None
    return "pow with a float exponent runs a long sequence; x * x is one multiplication, and exact."


def _number(value: Value) -> float | None:
    """A literal number, not a bool."""
    if value.op != "const" or isinstance(value.detail, bool | str | None):
        return None
    try:
        return float(value.detail)
    except OverflowError:  # an integer beyond what a float holds
        return None


def _same_number(one: Value, two: Value) -> bool:
    number = _number(one)
    return number is not None and number == _number(two)


_RULES: tuple[Callable[[Value], str | None], ...] = (
    _masked_again,
    _same_choice,
    _bounded,
    _bounded_twice,
    _undone,
    _square,
)
