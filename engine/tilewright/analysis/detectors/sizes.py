"""Numbers of tiles once their constexprs are known: extents, elements, bytes, strides."""

from math import prod

from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.tiles import Polynomial, Shape

BYTES = {"fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2} | {
    f"{sign}{bits}": bits // 8 for sign in "iu" for bits in (8, 16, 32, 64)
}
"""Bytes of an element, by its type."""


def sides_of(shape: Shape | None, numbers: Numbers) -> tuple[int, ...] | None:
    """A tile's extents as numbers; None if one is not known."""
    if shape is None:
        return None
    sides = [number_of(dim, numbers) for dim in shape]
    known = [side for side in sides if side is not None]
    return tuple(known) if len(known) == len(sides) else None


def elements_of(shape: Shape | None, numbers: Numbers) -> int | None:
    """How many elements a tile has."""
    sides = sides_of(shape, numbers)
    return None if sides is None else prod(sides)


def polynomial_number(polynomial: Polynomial, numbers: Numbers) -> int | None:
    """A stride or offset as a number; None if a value in it is not known."""
    total = 0
    for factors, coefficient in polynomial:
        for factor in factors:
            number = number_of(factor, numbers)
            if number is None:
                return None
            coefficient *= number
        total += coefficient
    return total
