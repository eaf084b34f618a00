"""Whether a computation that is done twice on its own result gives another result than once."""

from tilewright.analysis.detectors.common import TL
from tilewright.analysis.values import Value, walk

_ARITHMETIC = ("Add", "Sub", "Mult", "Div")
_CURVED = frozenset(
    f"{TL}{prefix}{name}"
    for prefix in ("", "math.")
    for name in ("exp", "exp2", "log", "log2", "sigmoid", "tanh", "erf", "rsqrt")
)
_REDUCES = frozenset(
    TL + name for name in ("sum", "max", "min", "argmax", "argmin", "dot", "reduce")
)


def is_changed_by(value: Value, loaded: Value) -> bool:
    """Whether ``value``, stored where ``loaded`` is from, makes of it something else each time.

    Silent about what may be done again without harm: a choice between the loaded value and
    constants, and whatever a reduction of the loaded values takes part in (a row that is divided
    by its sum stays as it is).
    """
    if loaded not in walk(value) or value is loaded:
        return False
    if any(_is_reduced(part, loaded) for part in walk(value)):
        return False
    return _is_changed(value, loaded)


def _is_changed(value: Value, loaded: Value) -> bool:
    if value.is_binary(*_ARITHMETIC):
        uses = [part for part in value.operands if loaded in walk(part)]
        if len(uses) == 1:
            return uses[0].uncast is loaded or _is_changed(uses[0], loaded)
        return any(_is_changed(part, loaded) for part in uses)
    accumulated = _accumulated(value)
    if accumulated is not None:
        return accumulated.uncast is loaded or _is_changed(accumulated, loaded)
    if value.op in ("cast", "unary", "expand"):
        is_negated = value.op == "unary" and value.detail == "USub"
        inner = value.operands[0]
        return (is_negated and inner.uncast is loaded) or _is_changed(inner, loaded)
    if value.is_call(*_CURVED):
        return loaded in walk(value)
    if value.is_call(TL + "where") and len(value.positional) == 3:
        return any(_is_changed(part, loaded) for part in value.positional[1:])
    return False


def _accumulated(value: Value) -> Value | None:
    """What a product, or a loop, adds to: ``dot(x, y, acc)`` and ``acc += x`` from it on."""
    if value.op == "dot":
        return value.argument(2, "acc")
    if value.op != "after" or len(value.operands) != 2:
        return None
    start, end = value.operands
    carried = end.operands if end.is_binary("Add") else (_accumulated(end),)
    is_added = any(v is not None and v.op == "phi" and v.detail == value.detail for v in carried)
    return start if is_added else None


def _is_reduced(value: Value, loaded: Value) -> bool:
    """Whether the loaded values take part in a reduction, but for what it adds its sums to."""
    if value.op == "dot":
        return any(loaded in walk(part) for part in value.positional[:2])
    is_reduction = value.op == "opaque" or (value.op == "call" and value.detail in _REDUCES)
    return is_reduction and loaded in walk(value)
