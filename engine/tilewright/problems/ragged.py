"""Extents that fit no tile: other dimensions for a case, smaller than its own."""

import math
from collections.abc import Collection, Iterator, Mapping

from tilewright.problems.model import Dim

_MOST = 1 << 16
_LARGE = 132
"""No extent above it where the product of all is above ``_MOST``: the interpreter is slow."""


def ragged_dims(dims: Mapping[str, Dim], free: Collection[str]) -> Iterator[dict[str, Dim]]:
    """All of the ``free`` dimensions at the prime below: odd, and a multiple of no tile."""
    yield from _changed(dims, _primes(dims, _extents(dims, free)))


def thin_dims(dims: Mapping[str, Dim], free: Collection[str]) -> Iterator[dict[str, Dim]]:
    """The first free dimension is 1, then the last one; the others are primes."""
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
    """The largest prime below an extent; 1 below 3."""
    below = (n for n in range(value - 1, 2, -1) if all(n % d for d in range(2, int(n**0.5) + 1)))
    return next(below, 1)
