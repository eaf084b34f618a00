"""Shapes of what instructions return."""

from collections.abc import Sequence
from functools import partial, reduce

from tilewright.analysis.nki.affine import ONE, Affine
from tilewright.analysis.nki.catalogue import Result
from tilewright.analysis.nki.model import Shape, View
from tilewright.analysis.nki.state import State
from tilewright.analysis.nki.values import Items, Literal, Value


def result_shape(
    state: State, rule: Result, tiles: Sequence[View], values: dict[str, Value]
) -> Shape | None:
    """The shape of a result by its rule; None where it does not follow."""
    if not tiles or any(tile.blocks for tile in tiles):
        return None
    first = tiles[0].shape
    match rule:
        case Result.SAME:
            return first
        case Result.ELEMENTWISE:
            return reduce(partial(broadcast, state), [tile.shape for tile in tiles])
        case Result.MATMUL | Result.HIGH_MATMUL if len(tiles) >= 2:
            transposed = rule is Result.MATMUL or values.get("transpose_x") == Literal(True)
            return _product(state, first, tiles[1].shape, int(transposed))
        case Result.TRANSPOSE if first is not None and len(first) == 2:
            return (first[1], first[0])
        case Result.REDUCE:
            return reduced(state, first, values)
        case Result.ROW if first is not None:
            return (ONE, *first[1:])
        case Result.BROADCAST:
            return shape_of(values.get("shape"))
    return None


def _product(state: State, one: Shape | None, two: Shape | None, side: int) -> Shape | None:
    if one is None or two is None or len(one) != 2 or len(two) != 2:
        return None
    contracted = state.flow.number(one[1 - side]), state.flow.number(two[0])
    if None not in contracted and contracted[0] != contracted[1]:
        return None
    return (one[side], two[1])


def broadcast(state: State, one: Shape | None, two: Shape | None) -> Shape | None:
    """The shape of an elementwise result; None where the shapes do not fit for sure."""
    if one is None or two is None:
        return None
    if len(one) < len(two):
        one, two = two, one
    padded = (*two, *([ONE] * (len(one) - len(two))))
    if len(one) != len(two) and state.flow.number(two[-1]) != 1:
        return None
    sides = [_side(state, a, b) for a, b in zip(one, padded, strict=True)]
    return None if any(side is None for side in sides) else tuple(s for s in sides if s)


def _side(state: State, one: Affine, two: Affine) -> Affine | None:
    a, b = state.flow.number(one), state.flow.number(two)
    if a == 1:
        return two
    if b == 1 or one == two or a == b is not None:
        return one
    return None if a is not None and b is not None else one


def reduced(state: State, shape: Shape | None, values: dict[str, Value]) -> Shape | None:
    """The shape after reducing the axes that ``axis`` names."""
    axes = _axes(state, values.get("axis"))
    if shape is None or axes is None:
        return None
    rank = len(shape)
    dropped = {axis % rank for axis in axes if -rank <= axis < rank}
    if len(dropped) != len(axes) or 0 in dropped:
        return None
    if values.get("keepdims") == Literal(True):
        return tuple(ONE if place in dropped else side for place, side in enumerate(shape))
    kept = tuple(side for place, side in enumerate(shape) if place not in dropped)
    return kept if len(kept) > 1 else (*kept, ONE)


def _axes(state: State, value: Value | None) -> list[int] | None:
    parts = value.values if isinstance(value, Items) else (value,)
    numbers = [state.flow.number(part) if isinstance(part, Affine) else None for part in parts]
    found = [number for number in numbers if number is not None]
    return found if found and len(found) == len(numbers) else None


def shape_of(value: Value | None) -> Shape | None:
    """A tuple of integers as a shape."""
    if isinstance(value, Affine):
        return (value,)
    if not isinstance(value, Items):
        return None
    sides = [side for side in value.values if isinstance(side, Affine)]
    return tuple(sides) if len(sides) == len(value.values) else None
