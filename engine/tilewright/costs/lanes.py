"""Cache lines that one access of a warp reaches, by where the compiler puts a tile's elements.

Triton's pass that coalesces accesses lets lanes follow each other along the axis with the longest
run of neighbouring elements, and goes on with what is left of them along the next. Of axes without
runs the first comes first up to Triton 3.6, and the last from 3.7 on: seen in the layouts of a tile
of repeated elements, compiled by 3.6, 3.7, 3.8 and 3.9.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilewright.costs.model import Touch

LINE = 128
"""Bytes of a cache line."""
_VERSION = re.compile(r"triton (\d+)\.(\d+)")
_LAST_FIRST = (3, 7)


def reached_lines(
    touch: Touch, bits: int, lanes: int, beside: Sequence[Touch] = (), *, last_first: bool = True
) -> float:
    """Cache lines that lanes side by side reach, each at the first element that it holds.

    Args:
        bits: the widest access that the elements of a lane allow.
        beside: other touches of the program; a lane holds neighbours along an axis without runs
            only where another tile of the same form has runs along it.
        last_first: whether of axes without runs the last comes first.
    """
    left, total = lanes, 1.0
    for at, axis in enumerate(_order(touch, last_first)):
        extent, stride = touch.extents[axis], touch.strides[axis]
        held = max(1, bits // 8 // touch.item) if at == 0 and _is_held(touch, axis, beside) else 1
        count = min(left, max(1, extent // held))
        left //= count
        step = LINE if stride is None else abs(stride) * held * touch.item
        if step:
            total = max(1.0, total * count * min(1.0, step / LINE))
    return total


def last_comes_first(toolchain: str) -> bool:
    """Whether a compile report's Triton prefers the last of axes without runs."""
    found = _VERSION.search(toolchain)
    return found is None or (int(found[1]), int(found[2])) >= _LAST_FIRST


def _order(touch: Touch, last_first: bool) -> list[int]:
    """Axes in the order that lanes go along them."""
    axes = range(min(len(touch.extents), len(touch.strides)))
    runs = [touch.extents[a] if abs(touch.strides[a] or 0) == 1 else 1 for a in axes]
    return sorted(reversed(axes) if last_first else axes, key=lambda axis: -runs[axis])


def _is_held(touch: Touch, axis: int, beside: Sequence[Touch]) -> bool:
    """Whether a lane holds neighbours along an axis."""
    if len(touch.extents) == 1 or abs(touch.strides[axis] or 0) == 1:
        return True
    same = (t for t in beside if t.extents == touch.extents and len(t.strides) > axis)
    return any(abs(t.strides[axis] or 0) == 1 for t in same)
