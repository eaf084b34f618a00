"""Extents that fit no tile: other dimensions for a small case."""

import math
from collections.abc import Collection, Iterator, Mapping

from tilewright.problems.model import Dim

_MOST = 1 << 19
"""Of the product of a case's extents: the interpreter is slow."""
_LARGE = 132
"""No extent above it where even smaller ones have a product above ``_MOST``."""
_FEW = 32
_GROWTH = 1.75


def ragged_dims(
    dims: Mapping[str, Dim], free: Collection[str], largest: Mapping[str, int]
) -> Iterator[dict[str, Dim]]:
    """All of the ``free`` dimensions at primes: odd, and multiples of no tile.

    Above the ``largest`` of the spec's small cases, so that nobody can have counted on those; where
    that would be too much only the first one, or none of them.
    """
    names = _extents(dims, free)
    below = _primes(dims, names)
    grown = {name: _prime_above(largest.get(name, below[name])) for name in names}
    ways = (grown, {**below, **{name: grown[name] for name in names[:1]}}, below)
    yield from _changed(dims, next((w for w in ways if math.prod(w.values()) <= _MOST), below))


def thin_dims(dims: Mapping[str, Dim], free: Collection[str]) -> Iterator[dict[str, Dim]]:
    """The first free dimension is 1, then the last one; the others are at the prime below."""
    names = _extents(dims, free)
    for thin in dict.fromkeys((*names[:1], *names[-1:])):
        yield from _changed(dims, {**_primes(dims, names), thin: 1})


def single_dims(dims: Mapping[str, Dim], free: Collection[str]) -> Iterator[dict[str, Dim]]:
    """One free dimension at a time at the prime below, where there are several."""
    names = _extents(dims, free)
    if len(names) > 1:
        for name in names:
            yield from _changed(dims, {name: _prime_below(_number(dims[name]))})


def _extents(dims: Mapping[str, Dim], free: Collection[str]) -> tuple[str, ...]:
    """The free dimensions that are numbers above 1, in the spec's order."""
    return tuple(
        name
        for name, value in dims.items()
        if name in free and isinstance(value, int) and not isinstance(value, bool) and value > 1
    )


def _changed(dims: Mapping[str, Dim], new: Mapping[str, int]) -> Iterator[dict[str, Dim]]:
    if any(dims[name] != value for name, value in new.items()):
        yield {**dims, **new}


def _primes(dims: Mapping[str, Dim], names: tuple[str, ...]) -> dict[str, int]:
    sizes = {name: _number(dims[name]) for name in names}
    if math.prod(sizes.values()) > _MOST:
        sizes = {name: min(size, _LARGE) for name, size in sizes.items()}
    return {name: _prime_below(size) for name, size in sizes.items()}


def _number(value: Dim) -> int:
    assert isinstance(value, int)
    return value


def _prime_below(value: int) -> int:
    """The largest odd prime below an extent; 1 below 4."""
    return next((n for n in range(value - 1, 2, -1) if _is_prime(n)), 1)


def _prime_above(value: int) -> int:
    """A prime above an extent: the next one of a small extent, else one well beyond it."""
    first = value + 1 if value < _FEW else int(value * _GROWTH)
    return next(n for n in range(max(first, 3), 2 * first + 4) if _is_prime(n))


def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))
