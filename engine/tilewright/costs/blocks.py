"""Where block pointers and described blocks are, and what the end of a tensor cuts off them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.analysis.values import Flow, Value
from tilewright.costs.masks import mean_of, sample_programs
from tilewright.costs.numbers import Numbers, Place

_TL = "triton.language."
_MAKERS = (
    _TL + "make_block_ptr", _TL + "make_tensor_descriptor",
    _TL + "_experimental_make_tensor_descriptor",
)  # fmt: skip
Offsets = Callable[[Place], tuple[int, ...] | None]


def pointer_offsets(numbers: Numbers, flow: Flow, pointer: Value) -> Offsets:
    """Where a block pointer is, along each axis; None where that does not follow."""
    return lambda place: _offsets(numbers, flow, pointer, place)


def given_offsets(numbers: Numbers, offsets: Sequence[Value]) -> Offsets:
    """Where the block is that a descriptor is asked for."""
    return lambda place: _numbers(numbers, offsets, place)


def shape_of(numbers: Numbers, pointer: Value) -> tuple[int, ...] | None:
    """The shape that a block pointer or descriptor was made with."""
    while pointer.op == "phi" or pointer.is_call(_TL + "advance"):
        if not pointer.operands:
            return None
        pointer = pointer.operands[0]
    given = pointer.argument(1, "shape") if pointer.is_call(*_MAKERS) else None
    return None if given is None else _numbers(numbers, given.operands, Place())


def _offsets(numbers: Numbers, flow: Flow, pointer: Value, place: Place) -> tuple[int, ...] | None:
    if pointer.is_call(_TL + "make_block_ptr"):
        given = pointer.argument(3, "offsets")
        return None if given is None else _numbers(numbers, given.operands, place)
    if pointer.is_call(_TL + "advance"):
        base = pointer.argument(0, "base")
        here = None if base is None else _offsets(numbers, flow, base, place)
        return _added(here, _moved(numbers, pointer, place), 1)
    if pointer.op == "phi" and pointer.operands and pointer in flow.back_edges:
        here = _offsets(numbers, flow, pointer.operands[0], place)
        loop = int(str(pointer.detail).split(":")[0])
        turn, back = place.turns.get(loop, 0), flow.back_edges[pointer]
        while back is not pointer:
            if not back.is_call(_TL + "advance") or not back.operands:
                return None
            here = _added(here, _moved(numbers, back, place), turn)
            back = back.operands[0]
        return here
    return None


def _moved(numbers: Numbers, advance: Value, place: Place) -> tuple[int, ...] | None:
    given = advance.argument(1, "offsets")
    return None if given is None else _numbers(numbers, given.operands, place)


def _numbers(numbers: Numbers, values: Sequence[Value], place: Place) -> tuple[int, ...] | None:
    found = [numbers.number_of(value, place) for value in values]
    known = tuple(int(number) for number in found if number is not None)
    return known if len(known) == len(found) else None


def _added(
    one: tuple[int, ...] | None, other: tuple[int, ...] | None, times: int
) -> tuple[int, ...] | None:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(a + times * b for a, b in zip(one, other, strict=True))


def kept_inside(
    offsets: Offsets, shape: Sequence[int], extents: Sequence[int], grid: Sequence[int],
    loop: int, turns: int,
) -> tuple[float, ...]:  # fmt: skip
    """The part of each axis that is inside a tensor: the mean over programs and one loop's turns.

    1 along an axis where it does not follow.
    """

    def mean(axis: int) -> float | None:
        def in_program(program: tuple[int, ...]) -> float | None:
            def part(turn: int) -> float | None:
                place = Place(program, {loop: turn})
                return _part(offsets, shape[axis], extents[axis], axis, place)

            return mean_of(part, turns)

        along = _axis_of(offsets, axis, grid)
        if along is not None:
            return mean_of(lambda at: in_program(_program(along, at)), grid[along])
        parts = [in_program(place) for place in sample_programs(grid)]
        known = [part for part in parts if part is not None]
        return sum(known) / len(known) if len(known) == len(parts) else None

    found = [mean(axis) for axis in range(len(extents))]
    return tuple(1.0 if part is None else part for part in found)


def _axis_of(offsets: Offsets, axis: int, grid: Sequence[int]) -> int | None:
    """The axis of the grid that an offset goes on along, evenly; None where it is not one."""

    def offset_at(along: int, number: int) -> int | None:
        here = offsets(Place(_program(along, number)))
        return None if here is None else here[axis]

    steps = {}
    for along, extent in enumerate(grid):
        zero, one, last = (
            offset_at(along, 0),
            offset_at(along, min(1, extent - 1)),
            offset_at(along, extent - 1),
        )
        if zero is None or one is None or last is None:
            return None
        if last - zero != (one - zero) * (extent - 1):
            return None
        if one != zero:
            steps[along] = one - zero
    return next(iter(steps), 0) if len(steps) <= 1 else None


def _program(along: int, number: int) -> tuple[int, ...]:
    return tuple(number if axis == along else 0 for axis in range(3))


def _part(offsets: Offsets, size: int, extent: int, axis: int, place: Place) -> float | None:
    here = offsets(place)
    return None if here is None else min(1.0, max(0.0, (size - here[axis]) / extent))
