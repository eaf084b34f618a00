"""What part of a tile a mask lets through: the mean over lanes, turns of loops, and programs.

A mask that compares linear forms is counted rather than sampled. Along any one variable, with the
others held, the part that passes is 0 or 1 at first, then goes on linearly, then stays: a stretch
whose ends are alike, or are both in between, is known by its ends, and any other is cut in two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from tilewright.analysis.values import Flow, Loop, Value
from tilewright.costs.numbers import Numbers, Place

_SAMPLES = 8
_ORDERS = ((0, 1, 2, 3, 4, 5, 6, 7), (0, 4, 2, 6, 1, 5, 3, 7), (0, 3, 6, 1, 4, 7, 2, 5))
"""Orders of eight samples, so that those of one variable say nothing of another's."""
_ORDERED = ("Lt", "LtE", "Gt", "GtE")
_VARYING = ("program_id", "loop_index", "arange")
_CARRYING = ("cast", "expand", "unary", "compare")
Variables = frozenset[tuple[str, int]]
_NONE: Variables = frozenset()


def sample_programs(grid: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Some programs, evenly spread along each axis of the grid."""
    if grid[0] * grid[1] * grid[2] <= _SAMPLES:
        return tuple(
            (x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])
        )
    return tuple(
        tuple((2 * order[at] + 1) * extent // (2 * _SAMPLES) for order, extent in pairs)
        for pairs in (tuple(zip(_ORDERS, grid, strict=True)),)
        for at in range(_SAMPLES)
    )


class Masks:
    """Parts that pass, for the masks of one launch; each is counted once."""

    def __init__(self, numbers: Numbers, flow: Flow) -> None:
        self._numbers = numbers
        self._flow = flow
        self._places = sample_programs(numbers.grid)
        self._known: dict[tuple[Value, tuple[int, ...]], tuple[float, ...]] = {}

    def passing(self, mask: Value, extents: tuple[int, ...]) -> tuple[float, ...]:
        """The part that a mask lets through along each axis of a tile, on average; and of the rest.

        The last is of masks that are of no axis or of several; 1 is where nothing follows.
        """
        key = (mask, extents)
        if key not in self._known:
            self._known[key] = self._passing(mask, extents)
        return self._known[key]

    def _passing(self, mask: Value, extents: tuple[int, ...]) -> tuple[float, ...]:
        if mask.is_binary("BitAnd") or (mask.op == "bool" and mask.detail == "And"):
            left, right = (self.passing(operand, extents) for operand in mask.operands)
            return tuple(a * b for a, b in zip(left, right, strict=True))
        if mask.op == "expand":
            parts = str(mask.detail).split(",")
            places = [at for at, part in enumerate(parts) if part == ":"]
            if len(parts) == len(extents):
                inner = self.passing(mask.operands[0], tuple(extents[at] for at in places))
                found = dict(zip((*places, len(extents)), inner, strict=True))
                return tuple(found.get(at, 1.0) for at in range(len(extents) + 1))
        axes = _axes(mask, len(extents))
        part = None if axes is None or len(axes) > 1 else self._counted(mask, extents, axes)
        part = self._sampled(mask, extents) if part is None else part
        own = min(axes) if axes is not None and len(axes) == 1 else len(extents)
        return tuple(part if at == own else 1.0 for at in range(len(extents) + 1))

    def _counted(self, mask: Value, extents: tuple[int, ...], axes: frozenset[int]) -> float | None:
        """By its ends; None where it is no comparison of linear forms."""
        if mask.op != "compare" or mask.detail not in _ORDERED:
            return None
        varying, bent = _forms(mask)
        if any(kind != "program_id" for kind, _ in bent):
            return None
        loops = [self._flow.loops[n] for n in sorted(mask.varies) if n in self._flow.loops]
        count = _Count(self._numbers, loops, mask, extents, min(axes, default=None))
        bounds = (bound for loop in loops for bound in loop.bounds or ())
        if bent or any(kind == "program_id" for b in bounds for kind, _ in _forms(b)[0]):
            return _mean([count.in_program(place) for place in self._places])
        programs = {axis for kind, axis in varying if kind == "program_id" and axis < 3}
        return count.over_programs(sorted(programs), (0, 0, 0))

    def _sampled(self, mask: Value, extents: tuple[int, ...]) -> float:
        passed = tried = 0
        loops = sorted(mask.varies)
        for turn in range(_SAMPLES):
            place = self._places[turn % len(self._places)]
            for at in range(_SAMPLES):
                lanes = tuple(
                    (2 * _ORDERS[axis % 3][at] + 1) * extent // (2 * _SAMPLES)
                    for axis, extent in enumerate(extents)
                )
                here = (turn + at) % _SAMPLES
                turns = {n: here * self._turns(n, place) // _SAMPLES for n in loops}
                result = self._numbers.number_of(mask, Place(place, turns, lanes))
                if result is None:
                    return 1.0
                tried += 1
                passed += bool(result)
        return passed / tried

    def _turns(self, loop: int, program: tuple[int, ...]) -> int:
        known = self._flow.loops.get(loop)
        return (self._numbers.trips(known, Place(program)) or 1) if known else 1


class _Count:
    """Counts where one comparison holds."""

    def __init__(
        self, numbers: Numbers, loops: Sequence[Loop], mask: Value, extents: tuple[int, ...],
        axis: int | None,
    ) -> None:  # fmt: skip
        self._numbers = numbers
        self._mask = mask
        self._extents = extents
        self._axis = axis
        self._loops = loops

    def over_programs(self, axes: Sequence[int], program: tuple[int, ...]) -> float | None:
        """The mean along these axes of the grid, from a program."""
        if not axes:
            return self.in_program(program)

        def count_along(at: int) -> float | None:
            moved = tuple(at if axis == axes[0] else p for axis, p in enumerate(program))
            return self.over_programs(axes[1:], moved)

        return mean_of(count_along, self._numbers.grid[axes[0]])

    def in_program(self, program: tuple[int, ...]) -> float | None:
        """The mean over all turns and lanes of a program."""
        return self._over_turns(0, program, {})

    def _over_turns(
        self, level: int, program: tuple[int, ...], turns: Mapping[int, int]
    ) -> float | None:
        if level == len(self._loops):
            return self._over_lanes(Place(program, turns))
        loop = self._loops[level]
        count = self._numbers.trips(loop, Place(program, turns))
        return mean_of(
            lambda at: self._over_turns(level + 1, program, {**turns, loop.number: at}),
            count or 1,
        )

    def _over_lanes(self, place: Place) -> float | None:
        def holds(at: int) -> float | None:
            lanes = tuple(at if axis == self._axis else 0 for axis in range(len(self._extents)))
            found = self._numbers.number_of(self._mask, Place(place.program, place.turns, lanes))
            return None if found is None else float(bool(found))

        return mean_of(holds, 1 if self._axis is None else self._extents[self._axis])


def mean_of(part: Callable[[int], float | None], count: int) -> float | None:
    """The mean over 0 to ``count - 1`` of a part as described above; None if it is not known."""
    known = cache(part)

    def total(first: int, last: int) -> float | None:
        low, high = known(first), known(last)
        if low is None or high is None:
            return None
        if low == high or last - first <= 1 or (0 < low < 1 and 0 < high < 1):
            return (last - first + 1) * (low + high) / 2
        middle = (first + last) // 2
        left, right = total(first, middle), total(middle + 1, last)
        return None if left is None or right is None else left + right

    found = total(0, count - 1)
    return None if found is None else found / count


def _mean(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) / len(known) if len(known) == len(parts) else None


def _forms(
    value: Value, known: dict[Value, tuple[Variables, Variables]] | None = None
) -> tuple[Variables, Variables]:
    """What a value is another number by, and those of them that it does not depend on linearly."""
    known = {} if known is None else known
    if value not in known:
        known[value] = _own_forms(value, [_forms(o, known) for o in _operands(value)])
    return known[value]


def _own_forms(
    value: Value, below: Sequence[tuple[Variables, Variables]]
) -> tuple[Variables, Variables]:
    varying = _NONE.union(*(v for v, _ in below))
    bent = _NONE.union(*(b for _, b in below))
    if value.op in _VARYING:
        return varying | {(value.op, value.detail if isinstance(value.detail, int) else 0)}, bent
    if value.op == "phi":
        return varying | {("loop_index", number) for number in value.varies}, bent
    straight = value.op in _CARRYING or value.is_binary("Add", "Sub")
    if value.is_binary("Mult"):
        straight = not all(v for v, _ in below)
    return varying, bent if straight else varying


def _operands(value: Value) -> tuple[Value, ...]:
    """Those that a number is made of: of a loop's index the start and the step."""
    if value.op == "phi":
        return value.operands[:1]
    return value.operands[::2] if value.op == "loop_index" else value.operands


def _axes(value: Value, rank: int) -> frozenset[int] | None:
    """The axes of a tile along which a value differs; None where that does not follow."""
    if value.op == "arange":
        return frozenset((rank - 1,))
    if value.op == "expand":
        places = [at for at, part in enumerate(str(value.detail).split(",")) if part == ":"]
        inner = _axes(value.operands[0], len(places)) if len(places) <= rank else None
        return None if inner is None else frozenset(places[at] for at in inner if at >= 0)
    found = [_axes(operand, rank) for operand in _operands(value)]
    if any(axes is None for axes in found):
        return None
    return frozenset[int]().union(*(axes for axes in found if axes is not None))
