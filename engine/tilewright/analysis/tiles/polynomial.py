"""Integer polynomials over values of a kernel: how offsets and strides are compared."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilewright.analysis.values import Value

_Monomial = tuple[Value, ...]


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of values with integer coefficients, in one normal form.

    ``monomials`` maps factors, in program order and with repetition, to a coefficient that
    is not 0; () is the constant. Two polynomials are equal if they are the same sum.
    """

    monomials: frozenset[tuple[_Monomial, int]]

    @staticmethod
    def from_value(value: Value | int) -> "Polynomial":
        """A number, or one value with coefficient 1."""
        if isinstance(value, int):
            return _normal({(): value})
        return _normal({(value,): 1})

    @property
    def number(self) -> int | None:
        """The number it is, None if a value occurs in it."""
        if not self.monomials:
            return 0
        known = dict(self.monomials)
        return known[()] if set(known) == {()} else None

    @property
    def values(self) -> frozenset[Value]:
        """The values that occur in it."""
        return frozenset(v for factors, _ in self.monomials for v in factors)

    def __iter__(self) -> Iterator[tuple[_Monomial, int]]:
        return iter(self.monomials)

    def __add__(self, other: "Polynomial") -> "Polynomial":
        total = dict(self.monomials)
        for factors, coefficient in other.monomials:
            total[factors] = total.get(factors, 0) + coefficient
        return _normal(total)

    def __neg__(self) -> "Polynomial":
        return _normal({factors: -c for factors, c in self.monomials})

    def __sub__(self, other: "Polynomial") -> "Polynomial":
        return self + (-other)

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        total: dict[_Monomial, int] = {}
        for one, a in self.monomials:
            for two, b in other.monomials:
                factors = tuple(sorted((*one, *two), key=_order))
                total[factors] = total.get(factors, 0) + a * b
        return _normal(total)


def _order(value: Value) -> int:
    return value.order


def _normal(total: Mapping[_Monomial, int]) -> Polynomial:
    return Polynomial(frozenset((f, c) for f, c in total.items() if c != 0))


ZERO = Polynomial.from_value(0)
ONE = Polynomial.from_value(1)
