"""Tiles of a kernel at chosen sizes: of each axis all lanes, or some of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product as all_of
from typing import Any

from tilewright.analysis.instances.model import Known, Tensor, Unfollowed, Unknown
from tilewright.analysis.instances.operators import GREATEST, GROWING

_FIRST = 12
_FURTHER = (16, 32, 64)
_MOST_LANES = 1 << 16


class Mismatch(Exception):  # noqa: N818
    """Two tiles meet whose shapes do not fit."""

    def __init__(self, one: tuple[int, ...], two: tuple[int, ...]) -> None:
        super().__init__(f"{list(one)} and {list(two)}")
        self.one = one
        self.two = two


class Lanes:
    """Which lanes of an axis are looked at: all, or the first ones and some further on."""

    def __init__(self, *, is_exact: bool) -> None:
        self.is_exact = is_exact
        self._known: dict[int, tuple[int, ...]] = {}

    def lanes_of(self, extent: int) -> tuple[int, ...]:
        """The lanes of an axis of this length."""
        found = self._known.get(extent)
        if found is None:
            if self.is_exact and extent > _MOST_LANES:
                raise Unfollowed("a tile of too many lanes")
            if self.is_exact or extent <= _FIRST + 1:
                found = tuple(range(extent))
            else:
                further = [lane for lane in (*_FURTHER, extent // 2) if _FIRST <= lane < extent - 1]
                found = (*range(_FIRST), *sorted(set(further)), extent - 1)
            self._known[extent] = found
        return found

    def counts(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """How many lanes of each axis are looked at; raises Unfollowed for too many in all."""
        found = tuple(len(self.lanes_of(extent)) for extent in shape)
        if math.prod(found) > _MOST_LANES:
            raise Unfollowed("a tile of too many lanes")
        return found


@dataclass(frozen=True, eq=False)
class Tile:
    """A tile: ``data`` are the values of its lanes, row by row; None where none is known.

    A lane that is None is not known. ``origin`` is equal for tiles that surely are the same.
    """

    shape: tuple[int, ...]
    counts: tuple[int, ...]
    data: list[Any] | None
    origin: int = 0

    def identity(self) -> int:
        """What two tiles have in common if they are surely the same."""
        return self.origin if self.data is None else hash((self.shape, *self.data))


@dataclass(frozen=True, eq=False)
class Pointer:
    """An address, or a tile of addresses, in elements from a tensor's start."""

    tensor: Tensor
    offset: Known


@dataclass(frozen=True, eq=False)
class BlockPointer:
    """``tl.make_block_ptr``, or a tensor descriptor, of known sizes."""

    pointer: Pointer
    shape: tuple[Known, ...]
    strides: tuple[Known, ...]
    offsets: tuple[Known, ...]
    block: tuple[int, ...]
    is_checked: bool = False


def shape_of(value: Known) -> tuple[int, ...] | None:
    """The shape of a tile, () of a number; None if it is not known."""
    if isinstance(value, Pointer):
        return shape_of(value.offset)
    if isinstance(value, Tile):
        return value.shape
    return None if isinstance(value, Unknown) else ()


def joined(one: tuple[int, ...], two: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that two are broadcast to; raises ``Mismatch``."""
    if one == two:
        return one
    rank = max(len(one), len(two))
    a, b = (1,) * (rank - len(one)) + one, (1,) * (rank - len(two)) + two
    for left, right in zip(a, b, strict=True):
        if left != right and 1 not in (left, right):
            raise Mismatch(one, two)
    return tuple(map(max, a, b))


def spread(tile: Tile, counts: tuple[int, ...]) -> list[Any]:
    """The lanes of a tile that is broadcast to so many lanes an axis."""
    assert tile.data is not None
    data, inner = tile.data, 1
    own = (1,) * (len(counts) - len(tile.counts)) + tile.counts
    for axis in reversed(range(len(counts))):
        times = counts[axis]
        if own[axis] != times:
            starts = range(0, len(data), inner)
            data = [x for start in starts for x in data[start : start + inner] * times]
        inner *= times
    return data


def elementwise(
    function: Callable[[Any, Any], Any], one: Known, two: Known, name: object, lanes: Lanes
) -> Tile:
    """A function of two tiles, or of a tile and a number, lane by lane."""
    shape = joined(shape_of(one) or (), shape_of(two) or ())
    counts = lanes.counts(shape)
    left, right = _data(one, counts), _data(two, counts)
    if left is None or right is None:
        return Tile(shape, counts, None, hash((name, _identity(one), _identity(two))))
    data: list[Any] | None
    try:
        data = list(map(function, left, right))
        if function in GROWING and max(map(abs, data), default=0) > GREATEST:
            data = None
    except (TypeError, ArithmeticError, ValueError):
        data = None
    origin = hash((name, _identity(one), _identity(two))) if data is None else 0
    return Tile(shape, counts, data, origin)


def _identity(value: Known) -> int:
    if isinstance(value, Tile):
        return value.identity()
    return hash(value) if isinstance(value, int | float | str) else id(value)


def _data(value: Known, counts: tuple[int, ...]) -> list[Any] | None:
    if not isinstance(value, Tile):
        return [value] * math.prod(counts) if isinstance(value, int | float) else None
    if value.data is None:
        return None
    return value.data if value.counts == counts else spread(value, counts)


def with_unknown(tile: Known, counts: tuple[int, ...]) -> list[Any]:
    """The lanes of a tile or number, None for those that are not known."""
    found = _data(tile, counts)
    return [None] * math.prod(counts) if found is None else found


def both(one: Any, two: Any) -> Any:
    """``one & two`` where either may be unknown."""
    if one is False or two is False:
        return False
    return None if one is None or two is None else one & two


def either(one: Any, two: Any) -> Any:
    """``one | two`` where either may be unknown."""
    if one is True or two is True:
        return True
    return None if one is None or two is None else one | two


def reduced(tile: Tile, axis: int | None, name: object, lanes: Lanes) -> Tile | Known:
    """The shape that a reduction leaves; its values are not followed."""
    if axis is None:
        return Tile((), (), None, hash((name, tile.identity())))
    axis %= len(tile.shape)
    shape = (*tile.shape[:axis], *tile.shape[axis + 1 :])
    return Tile(shape, lanes.counts(shape), None, hash((name, axis, tile.identity())))


def transposed(tile: Tile, order: Sequence[int]) -> Tile:
    """The axes of a tile in another order."""
    shape = tuple(tile.shape[axis] for axis in order)
    counts = tuple(tile.counts[axis] for axis in order)
    origin = hash(("trans", *order, tile.identity()))
    if tile.data is None:
        return Tile(shape, counts, None, origin)
    steps = [1] * len(tile.counts)
    for axis in reversed(range(len(steps) - 1)):
        steps[axis] = steps[axis + 1] * tile.counts[axis + 1]
    places = all_of(*(range(count) for count in counts))
    own = [steps[axis] for axis in order]
    data = [tile.data[sum(map(int.__mul__, place, own))] for place in places]
    return Tile(shape, counts, data, origin)
