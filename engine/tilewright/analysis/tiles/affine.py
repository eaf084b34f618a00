"""Arithmetic on affine forms, and what they say of strides and divisibility."""

from collections.abc import Callable, Mapping

from tilewright.analysis.tiles.model import Affine, Shape, Term
from tilewright.analysis.tiles.polynomial import ONE, ZERO, Polynomial
from tilewright.analysis.values import Value

_MAX_SIZE = 48
MAX_POWER = 1 << 20
"""Divisibility of zero: as good as any."""


def constant(number: Polynomial | int) -> Affine:
    """A number that no index changes."""
    return Affine(Polynomial.from_value(number) if isinstance(number, int) else number, ())


def of_index(index: Value, axis: int | None) -> Affine:
    """The index itself."""
    return Affine(ZERO, (Term(index, axis, ONE),))


def add(one: Affine, two: Affine) -> Affine | None:
    """Their sum; None where it grows too large to be of use."""
    total: dict[tuple[Value, int | None], Polynomial] = {}
    for term in (*one.terms, *two.terms):
        key = (term.index, term.axis)
        known = total.get(key)
        total[key] = term.coefficient if known is None else known + term.coefficient
    terms = tuple(Term(i, a, c) for (i, a), c in total.items() if c.monomials)
    return _bounded(Affine(one.constant + two.constant, terms))


def negate(form: Affine) -> Affine:
    return Affine(-form.constant, tuple(Term(t.index, t.axis, -t.coefficient) for t in form.terms))


def multiply(one: Affine, two: Affine) -> Affine | None:
    """Their product where one of them has no index."""
    if one.terms and two.terms:
        return None
    if two.terms:
        one, two = two, one
    factor = two.constant
    if not factor.monomials:
        return constant(0)
    terms = tuple(Term(t.index, t.axis, t.coefficient * factor) for t in one.terms)
    return _bounded(Affine(one.constant * factor, terms))


def _bounded(form: Affine) -> Affine | None:
    size = len(form.constant.monomials) + sum(len(t.coefficient.monomials) for t in form.terms)
    if size > _MAX_SIZE:
        return None
    sums = (form.constant, *(t.coefficient for t in form.terms))
    longest = max((len(factors) for each in sums for factors, _ in each), default=0)
    return form if longest <= _MAX_SIZE else None


def moved(form: Affine | None, axes: Callable[[int], int]) -> Affine | None:
    """The same form in a tile whose axes were moved."""
    if form is None or not any(t.axis is not None for t in form.terms):
        return form
    return Affine(
        form.constant,
        tuple(
            t if t.axis is None else Term(t.index, axes(t.axis), t.coefficient) for t in form.terms
        ),
    )


def without_axes(form: Affine | None) -> Affine | None:
    """The form if it is the same all over the tile, so that any reordering keeps it."""
    if form is None or any(t.axis is not None for t in form.terms):
        return None
    return form


def widened(form: Affine | None, rank: int, to: int) -> Affine | None:
    """The form in a tile of more axes: missing ones are added in front."""
    return form if rank == to else moved(form, lambda axis: axis + to - rank)


def strides(
    form: Affine | None, shape: Shape | None, unit: frozenset[Value] | set[Value]
) -> tuple[Polynomial | None, ...] | None:
    """Difference between neighbours along each axis; ``unit`` are indices with stride 1."""
    if form is None or shape is None:
        return None
    found: list[Polynomial | None] = [ZERO] * len(shape)
    for term in form.terms:
        if term.axis is None or term.axis >= len(shape) or shape[term.axis] == 1:
            continue
        before = found[term.axis]
        known = term.index.op == "arange" or term.index in unit
        found[term.axis] = before + term.coefficient if known and before is not None else None
    return tuple(found)


def divisibility(form: Affine, known: Callable[[Value], int]) -> int:
    """A power of two that divides the first element; ``known`` tells it of values."""
    result = power_of(form.constant, known)
    for term in form.terms:
        coefficient = power_of(term.coefficient, known)
        result = min(result, _capped(coefficient * known(term.index)))
    return result


def power_of(polynomial: Polynomial, known: Callable[[Value], int]) -> int:
    """A power of two that divides a polynomial."""
    result = MAX_POWER
    for factors, coefficient in polynomial:
        power = coefficient & -coefficient
        for factor in factors:
            power = _capped(power * known(factor))
        result = min(result, power)
    return result


def _capped(power: int) -> int:
    return min(power, MAX_POWER)


def divided(polynomial: Polynomial, divisor: Polynomial) -> Polynomial | None:
    """The exact quotient by a single product of values; None if there is none."""
    if len(divisor.monomials) != 1:
        return None
    ((by, number),) = divisor.monomials
    quotient: dict[tuple[Value, ...], int] = {}
    for factors, coefficient in polynomial:
        left = list(factors)
        for factor in by:
            if factor not in left:
                return None
            left.remove(factor)
        if coefficient % number:
            return None
        quotient[tuple(left)] = coefficient // number
    return from_monomials(quotient)


def from_monomials(monomials: Mapping[tuple[Value, ...], int]) -> Polynomial:
    return Polynomial(frozenset(monomials.items()))
