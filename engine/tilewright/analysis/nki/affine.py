"""Integers of an NKI kernel: polynomials over sizes, loop indices, lanes and program ids."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeGuard


class SymbolKind(StrEnum):
    """What a symbol counts."""

    SIZE = "size"
    LOOP = "loop"
    LANE = "lane"
    PROGRAM = "program"
    OTHER = "other"


@dataclass(frozen=True)
class Symbol:
    """An integer that the text does not fix. Two symbols are one if their keys are.

    Attributes:
        name: how a person would write it.
        extent: a loop index or lane runs over 0 .. extent - 1; None where that is unknown.
        axis, rank: of a lane, the axis of an index array it runs along.
        depends: symbols that an opaque one (a quotient, a minimum) is computed from.
    """

    key: Hashable
    kind: SymbolKind = field(compare=False)
    name: str = field(compare=False)
    extent: "Affine | None" = field(default=None, compare=False, repr=False)
    axis: int = field(default=0, compare=False)
    depends: frozenset["Symbol"] = field(default=frozenset(), compare=False, repr=False)


_Monomial = tuple[Symbol, ...]
Interval = tuple[int | None, int | None]
_UNBOUNDED: Interval = (None, None)


@dataclass(frozen=True)
class Affine:
    """A sum of products of symbols with integer coefficients, in one normal form."""

    terms: frozenset[tuple[_Monomial, int]]

    @staticmethod
    def from_value(value: Symbol | int) -> "Affine":
        """A number, or one symbol with coefficient 1."""
        return _normal({(): value} if isinstance(value, int) else {(value,): 1})

    @property
    def number(self) -> int | None:
        """The number it is; None if a symbol occurs in it."""
        if not self.terms:
            return 0
        if len(self.terms) == 1:
            ((factors, coefficient),) = self.terms
            return coefficient if not factors else None
        return None

    @property
    def symbol(self) -> Symbol | None:
        """The one symbol it is, with nothing around it."""
        if len(self.terms) == 1:
            ((factors, coefficient),) = self.terms
            return factors[0] if coefficient == 1 and len(factors) == 1 else None
        return None

    @property
    def symbols(self) -> frozenset[Symbol]:
        """The symbols that occur in it, with those that opaque ones are computed from."""
        found: set[Symbol] = set()
        for factors, _ in self.terms:
            for symbol in factors:
                found.add(symbol)
                found |= symbol.depends
        return frozenset(found)

    def __iter__(self) -> Iterator[tuple[_Monomial, int]]:
        return iter(self.terms)

    def __add__(self, other: "Affine") -> "Affine":
        total = dict(self.terms)
        for factors, coefficient in other.terms:
            total[factors] = total.get(factors, 0) + coefficient
        return _normal(total)

    def __neg__(self) -> "Affine":
        return _normal({factors: -c for factors, c in self.terms})

    def __sub__(self, other: "Affine") -> "Affine":
        return self + (-other)

    def __mul__(self, other: "Affine") -> "Affine":
        total: dict[_Monomial, int] = {}
        for one, a in self.terms:
            for two, b in other.terms:
                factors = tuple(sorted((*one, *two), key=lambda s: repr(s.key)))
                total[factors] = total.get(factors, 0) + a * b
        return _normal(total)

    def coefficient(self, symbol: Symbol) -> "Affine | None":
        """What ``symbol`` is multiplied by; None if it also occurs inside something opaque."""
        total: dict[_Monomial, int] = {}
        for factors, number in self.terms:
            count = factors.count(symbol)
            if count > 1 or any(symbol in s.depends for s in factors):
                return None
            if count == 1:
                rest = list(factors)
                rest.remove(symbol)
                total[tuple(rest)] = number
        return _normal(total)

    def substitute(self, known: Mapping[Symbol, "Affine"]) -> "Affine":
        """The same with symbols replaced by what is known of them."""
        if not known or not any(_is_known(s, known) for factors, _ in self.terms for s in factors):
            return self
        total = ZERO
        for factors, coefficient in self.terms:
            product = Affine.from_value(coefficient)
            for symbol in factors:
                product = product * _replaced(symbol, known)
            total = total + product
        return total

    def interval(self, known: Mapping[Symbol, "Affine"]) -> Interval:
        """Least and greatest value over all loop indices and lanes; None where not known."""
        low: int | None = 0
        high: int | None = 0
        for factors, coefficient in self.substitute(known).terms:
            least, most = _monomial(factors, coefficient, known)
            low = None if low is None or least is None else low + least
            high = None if high is None or most is None else high + most
        return low, high


def _is_known(symbol: Symbol, known: Mapping[Symbol, Affine]) -> bool:
    return symbol in known or any(part in known for part in symbol.depends)


def _replaced(symbol: Symbol, known: Mapping[Symbol, Affine]) -> Affine:
    if symbol in known:
        return known[symbol]
    match symbol.key:
        case ("//" | "/^" as sign, Affine() as left, Affine() as right):
            up = sign == "/^"
            return quotient(left.substitute(known), right.substitute(known), up=up)
        case ("min" | "max" as name, *parts):
            return _extreme(symbol, name, [p.substitute(known) for p in parts if _is_affine(p)])
    return Affine.from_value(symbol)


def _is_affine(part: object) -> TypeGuard[Affine]:
    return isinstance(part, Affine)


def _extreme(symbol: Symbol, name: str, parts: list[Affine]) -> Affine:
    """The least or greatest of integers; the same symbol where one of them is not a number."""
    numbers = [part.number for part in parts]
    exact = [number for number in numbers if number is not None]
    if not exact or len(exact) != len(numbers):
        return Affine.from_value(symbol)
    return Affine.from_value(min(exact) if name == "min" else max(exact))


def _normal(total: Mapping[_Monomial, int]) -> Affine:
    return Affine(frozenset((f, c) for f, c in total.items() if c != 0))


def _monomial(factors: _Monomial, coefficient: int, known: Mapping[Symbol, Affine]) -> Interval:
    if not factors:
        return coefficient, coefficient
    if len(factors) > 1 or factors[0].kind in (SymbolKind.OTHER, SymbolKind.SIZE):
        return _UNBOUNDED
    extent = factors[0].extent
    count = None if extent is None else extent.substitute(known).number
    last = None if count is None else coefficient * max(count - 1, 0)
    return (0, last) if coefficient > 0 else (last, 0)


ZERO = Affine.from_value(0)
ONE = Affine.from_value(1)


def opaque(key: Hashable, name: str, *parts: Affine) -> Affine:
    """An integer computed from ``parts`` in a way that is not followed."""
    depends = frozenset(s for part in parts for s in part.symbols)
    return Affine.from_value(Symbol(key, SymbolKind.OTHER, name, depends=depends))


def quotient(left: Affine, right: Affine, *, up: bool = False) -> Affine:
    """``left // right`` (rounded ``up`` if wanted); exact where every term divides."""
    a, b = left.number, right.number
    if a is not None and b:
        return Affine.from_value(-(-a // b) if up else a // b)
    if b and all(c % b == 0 for _, c in left):
        return _normal({factors: c // b for factors, c in left})
    if left == right:
        return ONE
    sign = "/^" if up else "//"
    return opaque((sign, left, right), f"({text(left)} // {text(right)})", left, right)


def text(value: Affine) -> str:
    """It as a person would write it."""
    if value.number is not None:
        return str(value.number)
    parts = []
    for factors, coefficient in sorted(value, key=lambda t: (not t[0], repr(t))):
        names = " * ".join(s.name for s in factors)
        lead = "" if coefficient == 1 and names else str(coefficient)
        parts.append(" * ".join(part for part in (lead, names) if part))
    return " + ".join(parts)
