"""Where the tiles of a load or store are, in elements: turn by turn, and program by program."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tilewright.analysis.tiles import Affine
from tilewright.analysis.values import Value
from tilewright.costs.model import Step, Turns
from tilewright.costs.numbers import Numbers, Place, programs_of

_TRIED = 32
Offset = Callable[[Place], int | None]
"""Elements at which a tile starts, what does not change aside; None where it does not follow."""


def start_of(numbers: Numbers, form: Affine) -> int | None:
    """Elements from the base to the first tile of the first program."""
    return _sum(numbers, form, Place(), lambda value: True)


def steps_of(
    numbers: Numbers, form: Affine, around: Sequence[int], loops: Mapping[int, Turns]
) -> tuple[Step, ...]:
    """How each of the loops around it that moves a tile does so, outermost first."""
    values = (*(term.index for term in form.terms), *form.constant.values)
    return tuple(
        step_along(_in_loop(numbers, form, loop), loop, loops[loop])
        for loop in around
        if any(loop in value.varies for value in values)
    )


def _in_loop(numbers: Numbers, form: Affine, loop: int) -> Offset:
    return lambda place: _sum(numbers, form, place, lambda value: loop in value.varies)


def step_along(offset: Offset, loop: int, turns: Turns) -> Step:
    """How one loop moves a tile.

    Beyond the turns that are looked at, places go on being new as often as before.
    """
    last = max(2, round(turns.each) - 1)
    zero, one, two, end = (offset(Place(turns={loop: at})) for at in (0, 1, 2, last))
    if zero is None or one is None or two is None or end is None:
        return Step(turns.each, None, turns.longest)
    shift = one - zero
    if not shift and two == end == zero:
        return Step(1.0, 0)
    if (two, end) == (zero + 2 * shift, zero + last * shift):
        return Step(turns.each, shift, turns.longest)
    tried = max(1, min(_TRIED, round(turns.each)))
    places = {offset(Place(turns={loop: at})) for at in range(tried)}
    return Step(turns.each * len(places) / tried, None, turns.longest)


def aside_of(numbers: Numbers, form: Affine) -> tuple[int | None, ...]:
    """Elements from the first program's tile to its neighbour's along each axis of the grid."""
    return asides(
        lambda place: _sum(numbers, form, place, lambda value: bool(programs_of(value))),
        numbers.grid,
    )


def asides(offset: Offset, grid: Sequence[int]) -> tuple[int | None, ...]:
    """The same of a tile that starts at ``offset``."""
    here = offset(Place())
    found: list[int | None] = []
    for axis, extent in enumerate(grid):
        program = tuple(int(other == axis) for other in range(3))
        there = here if extent <= 1 else offset(Place(program))
        found.append(None if here is None or there is None else there - here)
    return tuple(found)


def _sum(
    numbers: Numbers, form: Affine, place: Place, counts: Callable[[Value], bool]
) -> int | None:
    """The terms of a form, and of its constant, in which some value counts."""
    there = Place(place.program, place.turns, (0,))
    total = 0
    for term in form.terms:
        if counts(term.index):
            index = numbers.of(term.index, there)
            coefficient = numbers.polynomial(term.coefficient, place)
            if index is None or coefficient is None:
                return None
            total += int(index) * coefficient
    for factors, product in form.constant:
        if factors and not any(map(counts, factors)):
            continue
        found = [numbers.of(factor, place) for factor in factors]
        known = [int(number) for number in found if number is not None]
        if len(known) < len(found):
            return None
        total += product * math.prod(known)
    return total
