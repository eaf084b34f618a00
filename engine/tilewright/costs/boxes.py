"""Tiles as boxes of memory: how much of it several of them reach together, each byte once.

A box is a number of runs of neighbouring elements. Another one of its form lies some elements on,
which are so many steps along each axis; what both have is the product of what they share along
each. A tile's masked lanes are left out of its box.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tilewright.costs.model import Touch

SECTOR = 32
"""Bytes that caches of all chips here move at least."""


@dataclass(frozen=True)
class Box:
    """What one turn of a touch reaches.

    Attributes:
        item: bytes of an element.
        run: elements from the first to the last of a run.
        rows: (elements between neighbours, extent) of each axis that runs lie along, the
            farthest apart first.
        apart: boxes of this form that have nothing in common.
    """

    item: int
    run: float
    rows: tuple[tuple[int, float], ...] = ()
    apart: float = 1.0

    @property
    def sectors(self) -> float:
        """Sectors that it fills, a run being one at least."""
        each = self._width / self._least
        if self.run.is_integer():  # a mean over tiles is none of their own runs
            each = math.ceil(each)
        return self.apart * math.prod(extent for _, extent in self.rows) * each

    @property
    def _least(self) -> float:
        return SECTOR / self.item

    @property
    def _width(self) -> float:
        return max(self.run, self._least)

    def beyond(self, shift: int, *, nearest: bool = False) -> float:
        """The part of it that the box so many elements on does not have."""
        shared = 1.0
        for step, extent in self._steps(shift, nearest):
            shared *= max(0.0, 1.0 - step / extent)
        return 1.0 - shared

    def repeated(self, count: float, shift: int | None) -> Box:
        """What ``count`` of them reach, each so many elements after the one before it."""
        if count <= 1 or shift == 0:
            return self
        apart = replace(self, apart=self.apart * count)
        steps = () if shift is None else tuple(self._steps(shift, nearest=False))
        if shift is None or any(step > extent for step, extent in steps):
            return apart
        *rows, run = (step * (count - 1) for step, _ in steps)
        around = replace(
            self,
            run=(self._width if run else self.run) + run,
            rows=tuple((s, e + more) for (s, e), more in zip(self.rows, rows, strict=True)),
        )
        return min(around, apart, key=lambda box: box.sectors)

    def _steps(self, shift: int, nearest: bool) -> Iterator[tuple[float, float]]:
        """Steps along each axis that a shift is, with the extents; of its runs last.

        By whole rows and the elements that are left over, or (``nearest``) that are lacking.
        """
        left = abs(shift)
        for stride, extent in self.rows:
            steps = round(left / stride) if nearest else left // stride
            left = abs(left - steps * stride)
            yield steps, extent
        yield left, self._width


def box_of(touch: Touch) -> Box:
    """The box of one turn's tile; an axis along which an index was loaded keeps tiles apart."""
    kept = touch.kept if touch.kept and all(touch.kept) else (1.0,) * len(touch.extents)
    axes = [
        (stride, extent * part)
        for stride, extent, part in zip(touch.strides, touch.extents, kept, strict=True)
        if extent > 1
    ]
    apart = float(math.prod(extent for stride, extent in axes if stride is None))
    span, rows, dense = 1.0, [], True
    for stride, extent in sorted((abs(s), e) for s, e in axes if s):
        if stride <= span or (dense and stride * touch.item < SECTOR):
            span += max(0.0, extent - 1) * stride
        else:
            rows.append((stride, extent))
            dense = False
    return Box(touch.item, span, tuple(reversed(rows)), apart)


def all_turns(touch: Touch, *, most: bool = False) -> Box:
    """What all turns of a touch reach; ``most``: in the program that has the most turns."""
    box = box_of(touch)
    for step in reversed(touch.steps):
        box = box.repeated(step.places * (step.longest if most else 1.0), step.shift)
    return box


def together(touches: Sequence[Touch], *, most: bool = False) -> Box:
    """What touches of like tiles reach in all turns, where they start at different elements."""
    box = max((all_turns(touch, most=most) for touch in touches), key=lambda box: box.sectors)
    starts = sorted({touch.at for touch in touches if touch.at is not None})
    between = [b - a for a, b in itertools.pairwise(starts)]
    if len(set(between)) == 1:
        return box.repeated(len(starts), between[0])
    beyond = sum(box.beyond(shift, nearest=True) for shift in between)
    return replace(box, apart=box.apart * (1.0 + beyond))
