"""Bytes that a launch moves: what programs ask for, what reaches the caches, what the memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.costs.model import Touch, Workload
from tilewright.targets.model import LaunchFacts

SECTOR = 32
"""Bytes that caches of all chips here move at least."""


@dataclass(frozen=True)
class Asked:
    """Bytes of one program's touches, in whole sectors.

    Attributes:
        requested: as often as the program asks for them.
        unique: each once; what a cache of the compute unit would be asked for if it kept all.
        stored: by stores and atomics, in sectors.
        common: loads of what all programs share, which a unit's own cache keeps for the next.
    """

    requested: float
    unique: float
    stored: float
    common: float = 0.0


def sector_bytes(touch: Touch) -> float:
    """Bytes of the sectors that one turn of a touch reaches, masked lanes left out."""
    return touch.inside * _sectors(touch) * SECTOR


def _sectors(touch: Touch) -> float:
    if touch.elements == 1 or not touch.extents:
        return 1.0
    axes = sorted(
        (abs(stride), extent)
        for stride, extent in zip(touch.strides, touch.extents, strict=True)
        if stride is not None and extent > 1 and stride != 0
    )
    gathered = math.prod(
        extent
        for stride, extent in zip(touch.strides, touch.extents, strict=True)
        if stride is None
    )
    return gathered * _runs(axes, touch.item)


def _runs(axes: Sequence[tuple[int, int]], item: int) -> float:
    """Sectors of a tile with strides in elements, the smallest first."""
    span, runs = 1, 1  # elements from a run's first to its last, and how many runs there are
    dense = True
    for stride, extent in axes:
        if stride <= span or (dense and stride * item < SECTOR):
            span = (extent - 1) * stride + span
        else:
            runs *= extent
            dense = False
    return runs * max(1.0, math.ceil(span * item / SECTOR))


def grown(touch: Touch) -> float:
    """How much more than one turn's tile all its turns reach; tiles of two turns may overlap."""
    if touch.moves <= 1 or touch.shift == 0:
        return 1.0
    if touch.shift is None:
        return touch.moves
    return 1.0 + (touch.moves - 1) * _beyond(touch, abs(touch.shift))


def _beyond(touch: Touch, shift: int) -> float:
    """The part of a tile that another one, so many elements on, does not overlap.

    Lanes that a mask stops overlap nothing: a row that ends before its tile meets no other.
    """
    axes = ((abs(s), e) for s, e in zip(touch.strides, touch.extents, strict=True) if s)
    for stride, extent in sorted(axes, reverse=True):
        if stride <= shift:
            return min(1.0, shift / (stride * extent * max(touch.inside, 1.0 / extent)))
    return 1.0


def side_by_side(touches: Sequence[Touch]) -> float:
    """Tiles that loads of like tiles reach together, where they start at different elements."""
    starts = sorted({t.at for t in touches if t.at is not None})
    apart = (b - a for a, b in itertools.pairwise(starts))
    return 1.0 + sum(_beyond(touches[0], shift) for shift in apart)


def asked(work: Workload) -> Asked:
    """What one program asks for."""
    requested = unique = stored = common = 0.0
    for touches in _by_place(work).values():
        if not is_common(touches[0], work):
            each = max(sector_bytes(t) * grown(t) for t in touches)
            unique += each * side_by_side(touches)
    for touch in work.touches:
        moved = sector_bytes(touch) * touch.turns
        if touch.kind != "load":
            stored += moved
        elif is_common(touch, work):
            common += moved
        else:
            requested += moved
    return Asked(requested, unique, stored, common)


def is_common(touch: Touch, work: Workload) -> bool:
    """Whether every program touches the same."""
    return touch.spread is not None and touch.spread.distinct(work.programs) <= 1


def _by_place(work: Workload) -> Mapping[object, list[Touch]]:
    """Loads that reach tiles of the same form, together."""
    found: dict[object, list[Touch]] = {}
    for at, touch in enumerate(work.touches):
        if touch.kind == "load":
            found.setdefault(at if touch.base is None else place_of(touch), []).append(touch)
    return found


def place_of(touch: Touch) -> object:
    """What loads have in common whose tiles are alike but for where they start."""
    return touch.base, touch.extents, touch.strides, touch.spread, touch.moves


def per_run(work: Workload) -> float:
    """One over the bytes that lie side by side where a program loads: the mean over its bytes."""
    loads = [t for t in work.touches if t.kind == "load"]
    total = sum(t.elements * t.item * t.turns for t in loads)
    each = (t.elements * t.item * t.turns / max(SECTOR, _run(t)) for t in loads)
    return sum(each) / total if total else 0.0


def _run(touch: Touch) -> float:
    """Bytes from the first to the last of a load's neighbours, with the turns that go on there."""
    axes = sorted(
        (abs(stride), extent)
        for stride, extent in zip(touch.strides, touch.extents, strict=True)
        if stride and extent > 1
    )
    span = 1
    for stride, extent in axes:
        if stride > span:
            break
        span = (extent - 1) * stride + span
    goes_on = touch.moves > 1 and touch.shift is not None and abs(touch.shift) <= span
    return span * touch.item * (touch.moves if goes_on else 1.0)


def touched_bytes(work: Workload, launch: LaunchFacts) -> float:
    """Bytes that a launch touches, each once: the least that memory must move."""
    return _touched(work, _limits(launch), work.programs)


def memory_bytes(work: Workload, launch: LaunchFacts, concurrent: int, cache_bytes: float) -> float:
    """Bytes between the chip's last cache and its memory, for the whole launch.

    Programs run in the order they are numbered, ``concurrent`` at a time. What the programs of a
    window touch is fetched once; a window is as long as what it touches fits the cache, and no
    shorter than the programs that run at the same time.
    """
    limits = _limits(launch)
    window = min(concurrent, work.programs)
    total = _touched(work, limits, work.programs)
    while window < work.programs and _touched(work, limits, window) < cache_bytes:
        window *= 2
    if window >= work.programs:
        return total
    windows = work.programs / window
    return max(total, windows * _touched(work, limits, window))


def _limits(launch: LaunchFacts) -> Mapping[str, float]:
    return {a.name: _tensor_bytes(a.type, a.shape) for a in launch.arguments if a.shape}


def _touched(work: Workload, limits: Mapping[str, float], programs: float) -> float:
    """Bytes that the first programs touch, each once, reads and writes apart."""
    total = 0.0
    reads: dict[str | None, float] = {}
    for touches in _by_place(work).values():
        bytes_ = max(_spread_bytes(t, programs) for t in touches) * side_by_side(touches)
        reads[touches[0].base] = reads.get(touches[0].base, 0.0) + bytes_
    writes: dict[str | None, float] = {}
    for touch in work.touches:
        if touch.kind != "load":
            writes[touch.base] = writes.get(touch.base, 0.0) + _spread_bytes(touch, programs)
    for found in (reads, writes):
        for base, bytes_ in found.items():
            total += min(bytes_, limits.get(base or "", math.inf))
    return total


def _spread_bytes(touch: Touch, programs: float) -> float:
    distinct = programs if touch.spread is None else touch.spread.distinct(programs)
    return distinct * sector_bytes(touch) * grown(touch)


def _tensor_bytes(type_name: str, shape: Sequence[int] | None) -> float:
    bits = next((b for b in ("64", "32", "16", "8") if b in type_name.split("[")[0]), "8")
    return math.prod(shape or ()) * int(bits) / 8 if shape else math.inf
