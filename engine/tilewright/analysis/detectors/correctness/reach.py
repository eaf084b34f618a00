"""How far offsets reach, and how far a tensor extends in memory."""

from tilewright.analysis.detectors.correctness.masks import unexpanded, upper_bounds
from tilewright.analysis.intervals import Numbers, interval_of, number_of
from tilewright.analysis.values import Value, walk
from tilewright.targets.model import ArgumentFacts

_MOST_ADDENDS = 64
_NOT_EXACT = ("FloorDiv", "Mod", "Sub")


def greatest_offset(tensor: ArgumentFacts) -> int | None:
    """Offset of a tensor's last element in elements; None if shape or strides are unknown."""
    if tensor.shape is None or tensor.strides is None or 0 in tensor.shape:
        return None
    return sum((n - 1) * s for n, s in zip(tensor.shape, tensor.strides, strict=True) if s > 0)


def exact_offsets(pointer: Value, base: str, *, must_be_taken: bool = True) -> list[Value] | None:
    """The addends of an address next to its base, None if it is not a plain sum.

    With ``must_be_taken``, None also where the upper end of an addend may never be taken.
    """
    offsets = _offsets(pointer, base)
    if offsets is None or not must_be_taken:
        return offsets
    return None if any(_is_inexact(v) for o in offsets for v in walk(o)) else offsets


def reach_of(offsets: list[Value], mask: Value | None, numbers: Numbers) -> int | None:
    """The sum of the addends' upper ends, each kept below the bounds that the mask states.

    None where the ends may not be reached together: a bound that cuts one addend short while
    another grows with the same program id or loop.
    """
    bounds = {} if mask is None else dict(upper_bounds(mask))
    total = 0
    for offset in offsets:
        free, end = _upper_end(offset, {}, numbers), _upper_end(offset, bounds, numbers)
        if end is None or (free != end and _shares_index(offset, offsets)):
            return None
        total += end
    return total


def _shares_index(offset: Value, offsets: list[Value]) -> bool:
    own = _indices(offset)
    return any(own & _indices(other) for other in offsets if other is not offset)


def _indices(offset: Value) -> set[tuple[Value, str]]:
    """What an addend counts with; lanes along another axis of the tile are others."""
    parts = list(walk(offset))
    axis = next((str(v.detail) for v in parts if v.op == "expand"), "")
    return {
        (v, axis if v.op == "arange" else "")
        for v in parts
        if v.op in ("program_id", "loop_index", "arange")
    }


def _upper_end(offset: Value, bounds: dict[Value, Value], numbers: Numbers) -> int | None:
    value = unexpanded(offset)
    if value in bounds:
        interval, bound = interval_of(value, numbers), number_of(bounds[value], numbers)
        return None if interval is None or bound is None else min(interval[1], bound - 1)
    if value.is_binary("Mult"):
        for index, factor in (value.operands, value.operands[::-1]):
            number = number_of(unexpanded(factor), numbers)
            if number is not None and number >= 0 and unexpanded(index) in bounds:
                end = _upper_end(index, bounds, numbers)
                return None if end is None else end * number
    interval = interval_of(value, numbers)
    return None if interval is None else interval[1]


def _is_inexact(value: Value) -> bool:
    """Whether the upper end of an interval through this value may never be taken."""
    return value.op in ("phi", "after", "select", "load", "opaque", "item", "call") or (
        value.is_binary(*_NOT_EXACT)
    )


def _offsets(pointer: Value, base: str) -> list[Value] | None:
    if pointer.op == "param" and pointer.detail == base:
        return []
    if not pointer.is_binary("Add"):
        return None
    left, right = pointer.operands
    inner = _offsets(left, base)
    if inner is not None:
        return [*inner, *_addends(right)]
    inner = _offsets(right, base)
    return None if inner is None else [*inner, *_addends(left)]


def _addends(value: Value) -> list[Value]:
    """``rows[:, None] * stride + cols[None, :]`` in its parts; an index itself stays whole.

    So does a sum of more parts than a person writes: a value that is added to itself again and
    again has as many as it has paths.
    """
    parts: list[Value] = []
    pending = [value]
    while pending and len(parts) <= _MOST_ADDENDS:
        part = pending.pop()
        if _is_sum_of_parts(part):
            pending.extend(reversed(part.operands))
        else:
            parts.append(part)
    return [value] if pending else parts


def _is_sum_of_parts(value: Value) -> bool:
    if not value.is_binary("Add") or any(v.op == "arange" for v in value.operands):
        return False
    return any(v.op == "expand" or v.is_binary("Mult", "Add") for v in value.operands)
