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
from typing import NamedTuple

from tilewright.costs.model import Touch

SECTOR = 32
"""Bytes that caches of all chips here move at least."""


class Axis(NamedTuple):
    """Elements between neighbours, how many there are, and how many without any mask."""

    stride: int
    extent: float
    whole: float


@dataclass(frozen=True)
class Box:
    """What one turn of a touch reaches.

    Attributes:
        item: bytes of an element.
        run: elements from the first to the last of a run.
        rows: the axes that runs lie along, the farthest apart first.
        apart: boxes of this form that have nothing in common.
    """

    item: int
    run: Axis
    rows: tuple[Axis, ...] = ()
    apart: float = 1.0

    @property
    def sectors(self) -> float:
        """Sectors that it fills, a run being one at least."""
        each = max(1.0, self.run.extent * self.item / SECTOR)
        if self.run.extent.is_integer():  # a mean over tiles is none of their own runs
            each = math.ceil(each)
        return self.apart * math.prod(axis.extent for axis in self.rows) * each

    def part_beyond(self, shift: int, *, nearest: bool = False) -> float:
        """The part of it that the box so many elements on does not have."""
        shared = 1.0
        for step, axis in self._steps(shift, nearest):
            shared *= max(0.0, 1.0 - step / axis.extent)
        return 1.0 - shared

    def repeated(self, count: float, shift: int | None) -> Box:
        """What ``count`` of them reach, each so many elements after the one before it."""
        if count <= 1 or shift == 0:
            return self
        if shift is None:
            return replace(self, apart=self.apart * count)
        steps = tuple(self._steps(shift, nearest=False))
        new = Axis(abs(shift), count, count)
        apart = replace(self, rows=tuple(sorted((*self.rows, new), reverse=True)))
        if any(step > axis.whole for step, axis in steps):
            return apart
        own = zip(steps, (*self.rows, self.run), strict=True)
        *rows, run = (_longer(axis, step, count) for (step, _), axis in own)
        return min(replace(self, run=run, rows=tuple(rows)), apart, key=lambda box: box.sectors)

    def _steps(self, shift: int, nearest: bool) -> Iterator[tuple[float, Axis]]:
        """Steps along each axis that a shift is; along its runs last, which are a sector at least.

        By whole rows and the elements that are left over, or (``nearest``) that are lacking.
        """
        left = abs(shift)
        for axis in self.rows:
            steps = round(left / axis.stride) if nearest else left // axis.stride
            left = abs(left - steps * axis.stride)
            yield steps, axis
        least = SECTOR / self.item
        yield left, Axis(1, max(self.run.extent, least), max(self.run.whole, least))


def _longer(axis: Axis, step: float, count: float) -> Axis:
    """An axis of several boxes; what masks leave out of them lies at the end."""
    more = min(step, axis.extent) if step and axis.extent < axis.whole else step
    return Axis(axis.stride, axis.extent + more * (count - 1), axis.whole + step * (count - 1))


def box_of(touch: Touch) -> Box:
    """The box of one turn's tile; an axis along which an index was loaded keeps tiles apart."""
    kept = touch.kept if touch.kept and all(touch.kept) else (1.0,) * len(touch.extents)
    axes = [
        (stride, extent * part, extent)
        for stride, extent, part in zip(touch.strides, touch.extents, kept, strict=True)
        if extent > 1
    ]
    apart = float(math.prod(extent for stride, extent, _ in axes if stride is None))
    run, rows, dense = Axis(1, 1.0, 1.0), [], True
    for axis in sorted(Axis(abs(stride), *extents) for stride, *extents in axes if stride):
        if axis.stride <= run.extent or (dense and axis.stride * touch.item < SECTOR):
            span = max(0.0, axis.extent - 1) * axis.stride
            run = Axis(1, run.extent + span, run.whole + (axis.whole - 1) * axis.stride)
        else:
            rows.append(axis)
            dense = False
    return Box(touch.item, run, tuple(reversed(rows)), apart)


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
    beyond = sum(box.part_beyond(shift, nearest=True) for shift in between)
    return replace(box, apart=box.apart * (1.0 + beyond))
