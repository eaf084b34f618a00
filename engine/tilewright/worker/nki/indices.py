"""Affine index expressions and masks: ``128 * i + nl.arange(128)[:, None] < n``.

An expression over ranges is one constant and one step for each axis of the tile that it makes.
Every subscript of such expressions is therefore a strided view of the memory, never a gather.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
Box = tuple[tuple[int, int], ...]


class IndexProblem(Exception):  # noqa: N818
    """A subscript or a mask that the language refuses; the caller adds the line."""


class Index:
    """``const + sum(steps[d] * position[d])`` over the axes of a tile.

    Attributes:
        shape: extents of the axes; one where the expression does not vary, unless it is broadcast.
        steps: of each axis.
    """

    __slots__ = ("const", "shape", "steps")
    __array_ufunc__ = None  # numpy scalars leave the arithmetic to this class

    def __init__(self, const: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> None:
        self.const = const
        self.shape = shape
        self.steps = steps

    def __repr__(self) -> str:
        terms = "".join(
            f" + {s}*[0..{n - 1}]" for n, s in zip(self.shape, self.steps, strict=True) if s
        )
        return f"{self.const}{terms}"

    def __getitem__(self, key: Any) -> Index:
        """New axes of one element: the only subscript that an index expression takes."""
        entries = key if isinstance(key, tuple) else (key,)
        shape: list[int] = []
        steps: list[int] = []
        place = 0
        for entry in entries:
            if entry is None:
                shape.append(1)
                steps.append(0)
                continue
            if entry is Ellipsis:
                count = len(self.shape) - sum(e is not None for e in entries) + 1
            elif isinstance(entry, slice) and entry == slice(None):
                count = 1
            else:
                raise IndexProblem(
                    "an index expression takes only `:` and `None` as its subscript, "
                    f"not {entry!r}: write nl.arange(n)[:, None]"
                )
            shape.extend(self.shape[place : place + count])
            steps.extend(self.steps[place : place + count])
            place += count
        shape.extend(self.shape[place:])
        steps.extend(self.steps[place:])
        return Index(self.const, tuple(shape), tuple(steps))

    def __iter__(self) -> Iterator[Any]:
        raise IndexProblem("an index expression has no elements to iterate over")

    def _plus(self, other: Any, sign: int) -> Index:
        if isinstance(other, Index):
            return self._plus_index(other, sign)
        return Index(self.const + sign * _whole(other), self.shape, self.steps)

    def _plus_index(self, other: Index, sign: int) -> Index:
        rank = max(len(self.shape), len(other.shape))
        first, second = _aligned(self, rank), _aligned(other, rank)
        shape = []
        steps = []
        for (n, s), (m, t) in zip(first, second, strict=True):
            if n != m and 1 not in (n, m):
                raise IndexProblem(f"index expressions of shapes {self.shape} and {other.shape}")
            shape.append(max(n, m))
            steps.append(s + sign * t)
        return Index(self.const + sign * other.const, tuple(shape), tuple(steps))

    def __add__(self, other: Any) -> Index:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Index:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Index:
        return (-self)._plus(other, 1)

    def __neg__(self) -> Index:
        return self * -1

    def __mul__(self, other: Any) -> Index:
        if isinstance(other, Index):
            raise IndexProblem("a product of two index expressions is not affine")
        factor = _whole(other)
        return Index(self.const * factor, self.shape, tuple(s * factor for s in self.steps))

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Index:
        raise IndexProblem("// of an index expression is not affine")

    def __mod__(self, other: Any) -> Index:
        raise IndexProblem("% of an index expression is not affine")

    def __ge__(self, other: Any) -> Mask:
        return Mask((self - other,))

    def __gt__(self, other: Any) -> Mask:
        return Mask((self - other - 1,))

    def __le__(self, other: Any) -> Mask:
        return Mask((-(self - other),))

    def __lt__(self, other: Any) -> Mask:
        return Mask((-(self - other) - 1,))

    def __eq__(self, other: Any) -> Mask:  # type: ignore[override]
        difference = self - other
        return Mask((difference, -difference))

    def __ne__(self, other: Any) -> Mask:  # type: ignore[override]
        raise IndexProblem("!= is not affine: a mask is a comparison with <, <=, >, >= or ==")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise IndexProblem(
            "control flow cannot depend on nl.arange (err_control_flow_condition_depending_on_"
            "arange): use mask= or nl.where"
        )

    def values(self) -> Array:
        """The expression as an array of its shape."""
        result = np.full(self.shape, self.const, dtype=np.int64)
        for axis, (n, s) in enumerate(zip(self.shape, self.steps, strict=True)):
            if s:
                view = [1] * len(self.shape)
                view[axis] = n
                result = result + (s * np.arange(n)).reshape(view)
        return result

    def ends(self) -> tuple[int, int]:
        """Its least and its greatest value."""
        spans = [s * (n - 1) for n, s in zip(self.shape, self.steps, strict=True)]
        return self.const + sum(x for x in spans if x < 0), self.const + sum(
            x for x in spans if x > 0
        )


def _whole(value: Any) -> int:
    if isinstance(value, (int, np.integer)):
        return int(value)
    raise IndexProblem(f"an index expression takes whole numbers, not {type(value).__name__}")


def _aligned(index: Index, rank: int) -> list[tuple[int, int]]:
    missing = rank - len(index.shape)
    return [(1, 0)] * missing + list(zip(index.shape, index.steps, strict=True))


@lru_cache(maxsize=4096)
def arange_of(start: int, stop: int, step: int) -> Index:
    """One axis that counts from ``start``; index expressions do not change, so they are shared."""
    return Index(start, (max(0, -(-(stop - start) // step)),), (step,))


class Grid(tuple[Index, ...]):
    """What ``nl.mgrid`` gives: an index for each axis, also by the names of the axes."""

    __slots__ = ()

    @property
    def p(self) -> Index:
        return self[0]

    @property
    def x(self) -> Index:
        return self[1]

    @property
    def y(self) -> Index:
        return self[2]

    @property
    def z(self) -> Index:
        return self[3]


class GridMaker:
    """``nl.mgrid[0:128, 0:512]``."""

    def __getitem__(self, key: Any) -> Grid:
        entries = key if isinstance(key, tuple) else (key,)
        rank = len(entries)
        found = []
        for axis, entry in enumerate(entries):
            if not isinstance(entry, slice) or entry.stop is None:
                raise IndexProblem("nl.mgrid takes slices with an end: nl.mgrid[0:128, 0:512]")
            line = arange_of(int(entry.start or 0), int(entry.stop), int(entry.step or 1))
            shape, steps = [1] * rank, [0] * rank
            shape[axis], steps[axis] = line.shape[0], line.steps[0]
            found.append(Index(line.const, tuple(shape), tuple(steps)))
        return Grid(found)


@dataclass(frozen=True, slots=True)
class DynamicSlice:
    """``nl.ds(start, size)``."""

    start: int
    size: int


class Mask:
    """Affine conditions that all hold: each is an index expression that is zero or more."""

    __slots__ = ("conditions", "never")

    def __init__(self, conditions: tuple[Index, ...], never: bool = False) -> None:
        self.conditions = conditions
        self.never = never

    def __and__(self, other: Any) -> Mask:
        if isinstance(other, Mask):
            return Mask(self.conditions + other.conditions, self.never or other.never)
        if isinstance(other, (bool, np.bool_)):
            return Mask(self.conditions, self.never or not other)
        raise IndexProblem("conditions of a mask are joined with & and are comparisons")

    __rand__ = __and__

    def __bool__(self) -> bool:
        raise IndexProblem(
            "a mask has no truth value: join its conditions with & and parentheses, "
            "not with `and`, `or`, `not` or a chain of comparisons"
        )

    def __or__(self, other: Any) -> Mask:
        raise IndexProblem("conditions of a mask are joined with & alone")

    __invert__ = None


@dataclass(frozen=True, slots=True)
class Selection:
    """The elements of a tile on which a masked instruction works.

    Attributes:
        box: half-open extents of each axis that hold all of them.
        exact: the elements inside the box, None where all of them are.
    """

    box: Box
    exact: Array | None = None

    @property
    def slices(self) -> tuple[slice, ...]:
        return tuple(slice(low, high) for low, high in self.box)

    @property
    def empty(self) -> bool:
        return any(low >= high for low, high in self.box)

    def array(self, shape: tuple[int, ...]) -> Array:
        """True where the instruction works."""
        chosen = np.zeros(shape, dtype=bool)
        chosen[self.slices] = True if self.exact is None else self.exact
        return chosen


NOTHING: Final = Mask((), never=True)


def select(mask: Any, shape: tuple[int, ...]) -> Selection | None:
    """The elements of a tile of ``shape`` where a mask holds; None where all do.

    Raises:
        IndexProblem: something else than a comparison of index expressions.
    """
    if mask is None or mask is True:
        return None
    if isinstance(mask, (bool, np.bool_)):
        return None if mask else Selection(tuple((0, 0) for _ in shape))
    if not isinstance(mask, Mask):
        raise IndexProblem(
            f"mask= takes a comparison of index expressions, not {type(mask).__name__} "
            "(err_unsupported_expression_in_mask)"
        )
    if mask.never:
        return Selection(tuple((0, 0) for _ in shape))
    open_ones = [c for c in mask.conditions if c.ends()[0] < 0]
    if not open_ones:
        return None
    box = [(0, n) for n in shape]
    slanted: list[Index] = []
    for condition in open_ones:
        _check_fit(condition, shape)
        pairs = _aligned(condition, len(shape))[-len(shape) :]
        axes = [axis for axis, (_, step) in enumerate(pairs) if step]
        if not axes:
            return Selection(tuple((0, 0) for _ in shape))
        if len(axes) > 1:
            slanted.append(condition)
            continue
        axis = axes[0]
        box[axis] = _cut(box[axis], condition.const, pairs[axis][1])
    found = tuple(box)
    if not slanted:
        return (
            None
            if all(pair == (0, n) for pair, n in zip(found, shape, strict=True))
            else (Selection(found))
        )
    return _slanted(found, slanted, shape)


def _check_fit(condition: Index, shape: tuple[int, ...]) -> None:
    pairs = _aligned(condition, max(len(shape), len(condition.shape)))
    extra = pairs[: len(pairs) - len(shape)]
    fits = all(
        step == 0 or n == m
        for (n, step), m in zip(pairs[len(pairs) - len(shape) :], shape, strict=True)
    )
    if not fits or any(step for _, step in extra):
        raise IndexProblem(f"a mask of shape {condition.shape} on a tile of shape {shape}")


def _cut(pair: tuple[int, int], const: int, step: int) -> tuple[int, int]:
    """The positions of an axis at which ``const + step * position`` is zero or more."""
    low, high = pair
    if step > 0:
        return max(low, min(high, -(const // step))), high
    return low, max(low, min(high, const // -step + 1))


def _slanted(box: Box, conditions: list[Index], shape: tuple[int, ...]) -> Selection:
    chosen = np.ones(shape, dtype=bool)
    for condition in conditions:
        rank = len(condition.shape)
        lead = (1,) * (len(shape) - rank)
        chosen &= (
            condition.values().reshape(lead + condition.shape[max(0, rank - len(shape)) :]) >= 0
        )
    return Selection(box, chosen[tuple(slice(low, high) for low, high in box)])
