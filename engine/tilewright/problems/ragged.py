"""Extents that fit no tile: other dimensions for a small case.

They are drawn each time a spec is read: code that is right for those that it knows of is not right.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import chain, islice
from random import Random, SystemRandom
from types import MappingProxyType

from tilewright.problems.model import Dim

_MOST = 1 << 19
"""Of the product of a case's extents: the interpreter is slow."""
_LARGE = 132
"""No extent above it where even smaller ones have a product above ``_MOST``."""
_TILE = 64
"""A step from here on is a tile, on which one operation of a kernel works: such extents count in
tiles, not in elements."""
_MOST_TILES = 1 << 14
_MOST_IN_TILES = 1 << 32
"""Of the products of counts of tiles, and of the extents that these make up."""
_FEW_TILES = 4
_FEW = 32
_GROWTH = (1.6, 1.9)
_SHRINKAGE = 0.85
_CHOICES = 6
_ABOVE_FEW = 2
_FEW_BESIDE = 8
_FAR = (80_000, 90_000)
"""What far extents are not far below: above 65536 then."""


Steps = Mapping[str, int]
"""Of dimensions that vary in multiples of a number alone: what one tile of them is."""


def ragged_dims(
    dims: Mapping[str, Dim],
    free: Collection[str],
    largest: Mapping[str, int],
    draw: Random | None = None,
    steps: Steps = MappingProxyType({}),
) -> list[dict[str, Dim]]:
    """Ways to have all of the ``free`` dimensions at primes: odd, and multiples of no tile.

    Above the ``largest`` of the spec's small cases, so that code cannot be written for those; where
    that would be too much only the first one, or none of them. Extents that are too much by
    themselves are brought below ``_LARGE``. Where there is a step, the prime is how many of them.
    """
    draw = draw or SystemRandom()
    names = _extents(dims, free)
    return _different(_ragged_once(dims, names, largest, draw, steps) for _ in range(_CHOICES))


def _ragged_once(
    dims: Mapping[str, Dim],
    names: tuple[str, ...],
    largest: Mapping[str, int],
    draw: Random,
    steps: Steps,
) -> dict[str, Dim] | None:
    below = _primes(dims, names, draw, steps)
    grown = {
        name: steps.get(name, 1)
        * _prime_above(largest.get(name, below[name]) // steps.get(name, 1), draw)
        for name in names
    }
    ways = (grown, {**below, **{name: grown[name] for name in names[:1]}}, below)
    return _changed(dims, next((w for w in ways if not _is_too_much(w, steps)), below))


def _is_too_much(sizes: Mapping[str, int], steps: Steps) -> bool:
    """Whether the interpreter would take too long for a case of such extents."""
    elements = math.prod(sizes.values())
    tiles = {name: step for name, step in steps.items() if step >= _TILE}
    counts = math.prod(size // tiles.get(name, 1) for name, size in sizes.items())
    in_tiles = not tiles.keys().isdisjoint(sizes)
    fits = in_tiles and counts <= _MOST_TILES and elements <= _MOST_IN_TILES
    return elements > _MOST and not fits


def thin_dims(
    dims: Mapping[str, Dim], free: Collection[str], steps: Steps = MappingProxyType({})
) -> list[list[dict[str, Dim]]]:
    """Ways to have the first free dimension at 1, or one step, then such for the last one; the
    others are at primes below."""
    draw = SystemRandom()
    names = _extents(dims, free)
    return [
        _different(
            _changed(dims, {**_primes(dims, names, draw, steps), thin: steps.get(thin, 1)})
            for _ in range(_CHOICES)
        )
        for thin in dict.fromkeys((*names[:1], *names[-1:]))
    ]


def far_dims(
    dims: Mapping[str, Dim],
    free: Collection[str],
    reached: Collection[str],
    steps: Steps = MappingProxyType({}),
) -> list[dict[str, Dim]]:
    """Ways to have the ``reached`` dimensions, which indices go up to, beyond 16 bits; the others
    are few, so that it costs little. A kernel that keeps some low bits of an index alone is right
    for whatever is smaller."""
    draw = SystemRandom()
    names = _extents(dims, free)
    far = [name for name in names if name in reached]
    if len(far) != 1:  # of two the product would be too much
        return []
    few = {name: min(_number(dims[name]), _FEW_BESIDE) for name in names}
    return _different(
        _changed(
            dims,
            {
                **{name: _stepped(size, draw, steps.get(name, 1)) for name, size in few.items()},
                far[0]: _stepped(draw.randrange(*_FAR), draw, steps.get(far[0], 1)),
            },
        )
        for _ in range(_CHOICES)
    )


def tied_dims(
    every: Iterable[Mapping[str, Dim]],
    dims: Mapping[str, Dim],
    free: Collection[str],
    draw: Random | None = None,
    steps: Steps = MappingProxyType({}),
) -> list[dict[str, Dim]]:
    """Ways to have dimensions at primes below, but for those that are the same multiple of another
    one in ``every`` set of the spec: they are that multiple of its prime."""
    draw = draw or SystemRandom()
    names = _extents(dims, free)
    ratios = _ratios([*every, dims], names)
    if not ratios:
        return []

    def once() -> dict[str, Dim] | None:
        alone = tuple(name for name in names if name not in ratios)
        made = _primes(dims, alone, draw, steps)

        def size(name: str) -> int:
            if name not in ratios:
                return made[name]
            base, ratio = ratios[name]  # which may hang on a third
            return ratio * size(base)

        return _changed(dims, {name: size(name) for name in names})

    return _different(once() for _ in range(_CHOICES))


def _ratios(
    every: Collection[Mapping[str, Dim]], names: tuple[str, ...]
) -> dict[str, tuple[str, int]]:
    """(another dimension, how many times it) of each that is the same multiple of it everywhere."""
    found: dict[str, tuple[str, int]] = {}
    for name in names:
        for base in names:
            if base == name or base in found:
                continue
            pairs = {(one.get(name), one.get(base)) for one in every}
            ratio = {a // b for a, b in pairs if isinstance(a, int) and isinstance(b, int) and b}
            exact = all(isinstance(a, int) and isinstance(b, int) and a % b == 0 for a, b in pairs)
            if exact and len(ratio) == 1 and min(ratio) >= 1:
                found[name] = (base, min(ratio))
                break
    return found


def single_dims(
    dims: Mapping[str, Dim], free: Collection[str], steps: Steps = MappingProxyType({})
) -> list[dict[str, Dim]]:
    """One free dimension at a time at the prime below, where there are several."""
    names = _extents(dims, free)
    if len(names) < 2:
        return []
    return _different(
        _changed(dims, {name: step * _prime_below(_number(dims[name]) // step)})
        for name, step in ((name, steps.get(name, 1)) for name in names)
        if _number(dims[name]) <= _MOST
    )


def _extents(dims: Mapping[str, Dim], free: Collection[str]) -> tuple[str, ...]:
    """The free dimensions that are numbers above 1, in the spec's order."""
    return tuple(
        name
        for name, value in dims.items()
        if name in free and isinstance(value, int) and not isinstance(value, bool) and value > 1
    )


def _changed(dims: Mapping[str, Dim], new: Mapping[str, int]) -> dict[str, Dim] | None:
    return {**dims, **new} if any(dims[name] != value for name, value in new.items()) else None


def _different(found: Iterable[dict[str, Dim] | None]) -> list[dict[str, Dim]]:
    kept: list[dict[str, Dim]] = []
    for one in found:
        if one is not None and one not in kept:
            kept.append(one)
    return kept


def _primes(
    dims: Mapping[str, Dim], names: tuple[str, ...], draw: Random, steps: Steps
) -> dict[str, int]:
    sizes = {name: _number(dims[name]) for name in names}
    if _is_too_much(sizes, steps):
        sizes = {name: min(size, _largest(steps.get(name, 1))) for name, size in sizes.items()}
    return {name: _stepped(size, draw, steps.get(name, 1)) for name, size in sizes.items()}


def _largest(step: int) -> int:
    """What extents that are too much are brought below: more than one of their steps."""
    return max(_LARGE, _FEW_TILES * step) if step >= _TILE else _LARGE


def _stepped(size: int, draw: Random, step: int) -> int:
    """A prime number of steps, not far below an extent."""
    return step * _some_prime_below(size // step, draw)


def _number(value: Dim) -> int:
    assert isinstance(value, int)
    return value


def _some_prime_below(value: int, draw: Random) -> int:
    """A prime not far below an extent, at least the next one; 1 below 4."""
    low = int(_SHRINKAGE * value) + 1
    return _prime_within(low, value, draw) or _prime_below(value)


def _prime_below(value: int) -> int:
    """The next odd prime below an extent; 1 below 4."""
    return next((number for number in range(value - 1, 2, -1) if _is_prime(number)), 1)


def _prime_within(low: int, high: int, draw: Random) -> int | None:
    """An odd prime from ``low`` on and below ``high``, close to a number drawn there."""
    low = max(low, 3)
    if low >= high:
        return None
    start = draw.randrange(low, high)
    numbers = chain(range(start, high), range(start - 1, low - 1, -1))
    return next((number for number in numbers if _is_prime(number)), None)


def _prime_above(value: int, draw: Random) -> int:
    """A prime above an extent: one of the next of a small extent, else one well beyond it."""
    if value < _FEW:
        above = (number for number in range(max(value + 1, 3), 4 * _FEW) if _is_prime(number))
        return draw.choice(list(islice(above, _ABOVE_FEW)))
    low, high = (int(min(value, _MOST) * growth) for growth in _GROWTH)
    found = _prime_within(low, high, draw)
    assert found is not None, "between 1.6 and 1.9 times 32 or more there is a prime"
    return found


def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))
