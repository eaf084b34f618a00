"""Bytes that a launch moves: what programs ask for, what reaches the caches, what the memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.costs.accesses import first_sides
from tilewright.costs.boxes import SECTOR, Box, all_turns, box_of, together
from tilewright.costs.model import Touch, Workload
from tilewright.targets.model import LaunchFacts


@dataclass(frozen=True)
class Asked:
    """Bytes of one program's touches, in whole sectors.

    Attributes:
        requested: as often as the program asks for them.
        unique: each once; what a cache of the compute unit would be asked for if it kept all.
        stored: by stores and atomics, in sectors.
        common: loads of what all programs share, which a unit's own cache keeps for the next.
        per_run: one over the bytes that lie side by side, the mean over all that is loaded and
            stored; elements nearer to each other than a sector count as side by side.
    """

    requested: float
    unique: float
    stored: float
    common: float = 0.0
    per_run: float = 0.0


def sector_bytes(touch: Touch) -> float:
    """Bytes of the sectors that one turn of a touch reaches, masked lanes left out."""
    return _part((touch,)) * box_of(touch).sectors * SECTOR


def _part(touches: Sequence[Touch]) -> float:
    """What masks let through in addition to what they take from the tiles' axes."""
    kept = ((touch.inside, math.prod(touch.kept)) for touch in touches)
    return max(inside / of_axes if of_axes else 0.0 for inside, of_axes in kept)


def requests_of(work: Workload) -> Asked:
    """What one program asks for."""
    requested = unique = stored = common = begun = 0.0
    for touches in _by_place(work).values():
        box = together(touches)
        begun += _begun(touches, box)
        if not is_common(touches[0], work):
            unique += min(_part(touches) * box.sectors * SECTOR, _requested(touches))
    for touch in work.touches:
        moved = sector_bytes(touch) * touch.turns
        if touch.kind != "load":
            stored += moved
        elif is_common(touch, work):
            common += moved
        else:
            requested += moved
        if touch.kind == "store":
            begun += _begun((touch,), all_turns(touch))
    total = sum(map(_moved, work.touches))
    return Asked(requested, unique, stored, common, begun / total if total else 0.0)


def _begun(touches: Sequence[Touch], box: Box) -> float:
    """Stretches of memory that touches of like tiles lie in; a sector is one at least."""
    return sum(map(_moved, touches)) / max(SECTOR, box.run.extent * box.item)


def _moved(touch: Touch) -> float:
    """Bytes of its elements, masked or not."""
    return touch.elements * touch.item * touch.turns


def _requested(touches: Iterable[Touch]) -> float:
    """Bytes that a program asks for, each as often as it does."""
    return sum(sector_bytes(touch) * touch.turns for touch in touches)


def is_common(touch: Touch, work: Workload) -> bool:
    """Whether every program touches the same, and there are several."""
    return (
        work.programs > 1 and touch.spread is not None and touch.spread.distinct(work.programs) <= 1
    )


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
    total = _touched(work, limits, work.programs)

    def reached(programs: int) -> float:
        return total if programs >= work.programs else _touched(work, limits, programs)

    window = before = min(concurrent, work.programs)
    here = fitted = reached(window)
    while window < work.programs and here < cache_bytes:
        before, fitted = window, here
        window = min(2 * window, work.programs)
        here = reached(window)
    if here < cache_bytes:
        return total
    if window == before:
        return max(total, work.programs / window * here)
    longest = before + (window - before) * (cache_bytes - fitted) / (here - fitted)
    return max(total, work.programs / longest * cache_bytes)


def _limits(launch: LaunchFacts) -> Mapping[str, float]:
    return {a.name: _tensor_bytes(a.type, a.shape) for a in launch.arguments if a.shape}


def _touched(work: Workload, limits: Mapping[str, float], programs: float) -> float:
    """Bytes that the first programs touch, each once, reads and writes apart."""
    total = 0.0
    reads: dict[str | None, float] = {}
    for touches in _by_place(work).values():
        bytes_ = _spread_bytes(touches, programs, work.grid)
        reads[touches[0].base] = reads.get(touches[0].base, 0.0) + bytes_
    writes: dict[str | None, float] = {}
    for touch in work.touches:
        if touch.kind != "load":
            writes[touch.base] = writes.get(touch.base, 0.0) + _spread_bytes(
                (touch,), programs, work.grid
            )
    for found in (reads, writes):
        for base, bytes_ in found.items():
            total += min(bytes_, limits.get(base or "", math.inf))
    return total


def _spread_bytes(touches: Sequence[Touch], programs: float, grid: Sequence[int]) -> float:
    """Bytes that the first programs reach by touches of like tiles.

    Where they share tiles, the program with the most turns reaches for all.
    """
    one = touches[0]
    distinct = programs if one.spread is None else one.spread.distinct(programs)
    box = together(touches, most=distinct < programs)
    for count, aside in zip(first_sides(programs, grid), one.aside, strict=True):
        if aside and count > 1:
            distinct *= (1.0 + (count - 1) * box.part_beyond(aside)) / count
    if one.picked is not None:
        distinct = one.picked.distinct(programs, box.apart) / box.apart
    reached = distinct * _part(touches) * box.sectors * SECTOR
    return min(reached, programs * _requested(touches))


def _tensor_bytes(type_name: str, shape: Sequence[int] | None) -> float:
    bits = next((b for b in ("64", "32", "16", "8") if b in type_name.split("[")[0]), "8")
    return math.prod(shape or ()) * int(bits) / 8 if shape else math.inf
