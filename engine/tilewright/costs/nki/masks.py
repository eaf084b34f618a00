"""What a mask leaves of an instruction's tile, over the turns of its loops."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from tilewright.analysis.nki import Flow, Loop, Mask, Symbol
from tilewright.analysis.nki.affine import Affine, SymbolKind
from tilewright.analysis.nki.model import Comparison

_MOST_TURNS = 1 << 14
_Lanes = tuple[tuple[Symbol, int, int], ...]
"""Of each masked lane, the first index that is left and the one after the last."""

_NOTHING: _Lanes = ((Symbol("no lane", SymbolKind.LANE, "lane", Affine.from_value(1)), 0, 0),)


@dataclass(frozen=True)
class Turns:
    """How often each loop around an instruction turns, and how many programs run it.

    Attributes:
        axes: programs by the symbol of their id.
    """

    loops: tuple[Loop, ...]
    trips: tuple[int, ...]
    axes: Mapping[Symbol, int]

    @property
    def counts(self) -> dict[Symbol, int]:
        """By symbol of a loop's index or of a program id."""
        known = zip(self.loops, self.trips, strict=True)
        return {loop.symbol: trip for loop, trip in known if loop.symbol is not None} | dict(
            self.axes
        )

    @property
    def total(self) -> int:
        """How often the instruction runs."""
        return prod(self.trips) * prod(self.axes.values())


@dataclass(frozen=True)
class MaskedShape:
    """The part of a tile that some turns leave.

    Attributes:
        count: turns; distinct: those of them that differ in what the instruction reads.
        lanes: lanes that are left and all lanes, by axis of the tile.
    """

    count: int
    distinct: int
    lanes: tuple[tuple[int, int, int], ...] = ()

    def remaining_shape(self, partitions: int, free: int) -> tuple[int, int]:
        """Partitions and elements a partition that are left of a tile with so many."""
        for axis, kept, extent in self.lanes:
            if axis == 0:
                partitions = min(partitions, kept)
            elif free % extent == 0:
                free = free // extent * kept
        return partitions, free


def masked_shapes(
    mask: Mask | None, flow: Flow, turns: Turns, varying: frozenset[Symbol]
) -> tuple[MaskedShape, ...] | None:
    """The shapes that a mask leaves, each with its number of turns; None where it is not followed.

    Args:
        varying: symbols that what the instruction reads depends on.
    """
    counts = turns.counts
    if mask is None:
        return (_whole(turns, varying),)
    if mask.parts is None:
        return None
    parts = [Comparison(p.value.substitute(flow.known), p.equality) for p in mask.parts]
    symbols = {s for part in parts for s in part.value.symbols if s.kind is not SymbolKind.LANE}
    inner = [s for s in counts if s in symbols]
    if not symbols <= set(inner) or prod(counts[s] for s in inner) > _MOST_TURNS:
        return None
    found = _counted(tuple(parts), tuple(inner), tuple(counts[s] for s in inner))
    if found is None:
        return None
    rest = [s for s in counts if s not in symbols]
    times = prod(counts[s] for s in rest)
    once = prod(counts[s] for s in rest if s in varying)
    return tuple(
        MaskedShape(number * times, number * once, tuple(_by_axis(lanes)))
        for lanes, number in found.items()
    )


@lru_cache(maxsize=256)
def _counted(
    parts: tuple[Comparison, ...], inner: tuple[Symbol, ...], trips: tuple[int, ...]
) -> Counter[_Lanes] | None:
    found: Counter[_Lanes] = Counter()
    for place in product(*map(range, trips)):
        lanes = _lanes(parts, dict(zip(inner, map(Affine.from_value, place), strict=True)))
        if lanes is None:
            return None
        found[lanes] += 1
    return found


def _whole(turns: Turns, varying: frozenset[Symbol]) -> MaskedShape:
    counts = turns.counts
    return MaskedShape(turns.total, prod(n for s, n in counts.items() if s in varying))


def _lanes(parts: Sequence[Comparison], at: Mapping[Symbol, Affine]) -> _Lanes | None:
    """The lanes that are left at one turn; None where a conjunct has several of them."""
    left: dict[Symbol, tuple[int, int]] = {}
    for part in parts:
        value = part.value.substitute(at)
        lanes = [s for s in value.symbols if s.kind is SymbolKind.LANE]
        if len(lanes) > 1:
            return None
        if not lanes:
            number = value.number
            if number is None:
                return None
            if number < 0 or (part.equality and number != 0):
                return _NOTHING
            continue
        (lane,) = lanes
        kept = _kept_lanes(value, lane, part.equality)
        if kept is None:
            return None
        low, high = left.get(lane, kept)
        left[lane] = (max(low, kept[0]), min(high, kept[1]))
    ordered = sorted(left.items(), key=lambda item: repr(item[0].key))
    return tuple((lane, low, max(low, high)) for lane, (low, high) in ordered)


def _kept_lanes(value: Affine, lane: Symbol, equality: bool) -> tuple[int, int] | None:
    """The lanes, first and one after the last, for which ``value >= 0``, or ``== 0``."""
    extent = None if lane.extent is None else lane.extent.number
    slope = value.coefficient(lane)
    step = None if slope is None else slope.number
    start = value.substitute({lane: Affine.from_value(0)}).number
    if extent is None or not step or start is None:
        return None
    if equality:
        at, rest = divmod(-start, step)
        return (at, at + 1) if not rest and 0 <= at < extent else (0, 0)
    if step < 0:
        return (0, max(0, min(extent, start // -step + 1)))
    return (min(extent, max(0, -(start // step))), extent)


def _by_axis(lanes: _Lanes) -> Iterator[tuple[int, int, int]]:
    for lane, low, high in lanes:
        extent = None if lane.extent is None else lane.extent.number
        if extent:
            yield lane.axis, high - low, extent
