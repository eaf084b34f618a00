"""Scores of keys past the end in a loop of attention: zeros, whose exponentials a sum counts."""

import ast
from collections.abc import Iterable, Iterator, Sequence

from tilewright.analysis.detectors.common import TL
from tilewright.analysis.detectors.correctness.lanes import reduced_axis
from tilewright.analysis.detectors.correctness.masks import (
    laid_along,
    terms,
    transposed,
    unexpanded,
)
from tilewright.analysis.values import Flow, Value, reached, values_within, walk

_HINTS = (TL + "multiple_of", TL + "max_contiguous")
_MINIMUM = (TL + "minimum", "min")
_TILE = (1, 1)
"""A tile of two axes, whose extents are not asked for."""
_RANK = len(_TILE)
_DEEP = 24


def padded_scores(
    flow: Flow, sums: Iterable[tuple[ast.Call, Value]], powers: Sequence[str]
) -> Iterator[tuple[ast.Call, Value]]:
    """Sums of exponentials of a product, with the load past whose end the product is zero.

    The loop runs up to the bound of the load's mask, so that its last turn has such lanes, and
    nothing between the product and the sum asks for that bound.

    Args:
        powers: the names of functions that give exponentials.
    """
    known = set[Value]()
    for node, value in sums:
        axis = reduced_axis(value, _TILE) if "dot" in value.operations else None
        summed = value.positional[0] if value.positional else None
        product = None if axis is None or summed is None else _product(summed, axis, powers)
        if axis is None or summed is None or product is None:
            continue
        for load, bound in _tails(flow, product, axis):
            if load not in known and not _asks_for(summed, bound):
                known.add(load)
                yield node, load
                break


def _product(summed: Value, axis: int, powers: Sequence[str]) -> Value | None:
    """The product whose exponential is summed, where all else is equal along the axis."""
    value, is_power = summed, False
    for _ in range(_DEEP):
        if value.op == "dot":
            return value if is_power else None
        is_power = is_power or value.is_call(*powers)
        inner = _inner(value, axis, powers)
        if inner is None:
            return None
        value = inner
    return None


def _inner(value: Value, axis: int, powers: Sequence[str]) -> Value | None:
    """The operand that the product is in, where the others are equal in all lanes of the axis."""
    if value.op == "cast" or (value.op == "unary" and value.detail == "UAdd"):
        return value.operands[0]
    if value.is_call(*powers) and value.positional:
        return value.positional[0]
    if value.op == "select":
        return _plain(value)
    if value.is_call(TL + "where") and len(value.positional) == 3:
        condition, chosen, _ = value.positional
        return chosen if _is_flat(condition, axis) else None
    if value.is_binary("Add", "Sub", "Mult", "Div"):
        left, right = value.operands
        if _holds_product(left) and _is_flat(right, axis):
            return left
        if _holds_product(right) and _is_flat(left, axis) and not value.is_binary("Sub", "Div"):
            return right
    return None


def _plain(choice: Value) -> Value | None:
    """Of two values that a flag chooses between, the one that the other is made of."""
    _, one, two = choice.operands
    if any(part is two for part in walk(one)):
        return two
    return one if any(part is one for part in walk(two)) else None


def _holds_product(value: Value) -> bool:
    return "dot" in value.operations


def _is_flat(value: Value, axis: int) -> bool:
    """Whether a value is the same in all lanes of an axis: numbers, and rows spread over it."""
    parts = values_within(value, _is_lane_by_lane)
    return all(_is_lane_by_lane(part) or _is_spread(part, axis) for part in parts)


def _is_lane_by_lane(value: Value) -> bool:
    return value.op in ("binary", "unary", "compare", "call", "cast") and bool(value.operands)


def _is_spread(value: Value, axis: int) -> bool:
    if value.op == "expand":
        added = str(value.detail).split(",")
        return len(added) == _RANK and added[axis] == "None"
    if value.op == "load":
        return "arange" not in value.positional[0].operations and "mask" not in value.keywords
    return value.op in ("const", "param", "global")


def _tails(flow: Flow, product: Value, axis: int) -> Iterator[tuple[Value, Value]]:
    """Loads of the operand that gives the axis, each with the bound of its mask and of a loop."""
    if len(product.positional) < _RANK:
        return
    for operand, along in _operands(product.positional[axis], axis):
        mask = operand.keyword("mask") if operand.op == "load" else None
        for term in terms(mask) if mask is not None else ():
            bound = _bound_along(term, along)
            if bound is not None:
                yield operand, bound
        bound = _checked_extent(flow, operand, along)
        if bound is not None and _ends_loop(flow, operand, bound):
            yield operand, bound


def _checked_extent(flow: Flow, load: Value, axis: int) -> Value | None:
    """The extent of a block pointer that a load checks along an axis."""
    nodes = [a.node for a in flow.loads if a.result is load] if load.op == "load" else []
    if not any(axis in _checked_axes(node) for node in nodes):
        return None
    pointer = load.positional[0]
    while pointer.op == "phi" or pointer.is_call(TL + "advance"):
        pointer = pointer.operands[0]
    shape = pointer.argument(1, "shape") if pointer.is_call(TL + "make_block_ptr") else None
    if shape is None or shape.op != "tuple" or len(shape.operands) != _RANK:
        return None
    return _bare(shape.operands[axis])


def _checked_axes(load: ast.Call) -> frozenset[int]:
    given = (k.value for k in load.keywords if k.arg == "boundary_check")
    parts = (part for value in given for part in ast.walk(value))
    return frozenset(p.value for p in parts if isinstance(p, ast.Constant) and type(p.value) is int)


def _ends_loop(flow: Flow, load: Value, bound: Value) -> bool:
    """Whether a load is in a loop that runs up to a bound in steps of more than one."""
    bounds = (loop.bounds for loop in flow.loops.values() if loop.number in load.varies)
    return any(
        found is not None and _bare(found[1]) is bound and not found[2].is_const(1)
        for found in bounds
    )


def _operands(value: Value, axis: int) -> Iterator[tuple[Value, int]]:
    """What an operand of a product is, in each branch, with the axis as it is turned there."""
    pending, seen = [(value, axis)], set[tuple[Value, int]]()
    while pending:
        current, along = pending.pop()
        operand, turned = transposed(current)
        found = (operand, 1 - along if turned else along)
        if operand.op != "select":
            yield found
        elif found not in seen:
            seen.add(found)
            pending += [(part, found[1]) for part in operand.operands[1:]]


def _bound_along(term: Value, axis: int) -> Value | None:
    """The end of a loop that a condition on the lanes of an axis holds indices below."""
    compare = unexpanded(term)
    if compare.op != "compare" or compare.detail not in ("Lt", "Gt"):
        return None
    index, bound = compare.operands if compare.detail == "Lt" else compare.operands[::-1]
    if not laid_along(term, axis, _RANK) and not laid_along(index, axis, _RANK):
        return None
    index, bound = unexpanded(index), _bare(unexpanded(bound))
    for loop in (part for part in (*walk(index), *walk(bound)) if part.op == "loop_index"):
        is_walked = "loop_index" in index.operations
        for stop in _stops(loop.operands[1]) if len(loop.operands) == 3 else ():
            if is_walked and _counts_blocks(stop, bound):
                return bound
            if loop.operands[2].is_const(1):
                continue
            if bound is stop and is_walked:
                return stop
            is_rest = bound.is_binary("Sub") and _bare(bound.operands[0]) is stop
            if is_rest and _bare(bound.operands[1]) is loop:
                return stop
    return None


def _stops(stop: Value) -> Iterator[Value]:
    """Where a loop may end: each choice of a flag, and of a minimum."""
    stop = _bare(stop)
    parts = stop.operands[1:] if stop.op == "select" else ()
    if stop.is_call(*_MINIMUM):
        parts = stop.positional
    yield stop
    for part in parts:
        yield from _stops(part)


def _counts_blocks(stop: Value, bound: Value) -> bool:
    """Whether a loop ends at ``tl.cdiv(bound, BLOCK)``: its last block may pass the bound."""
    is_rounded = stop.is_call(TL + "cdiv") and len(stop.positional) == 2
    return is_rounded and _bare(stop.positional[0]) is bound


def _bare(value: Value) -> Value:
    """A value without casts, and without what the compiler is told of it."""
    while value.operands and (value.op == "cast" or value.is_call(*_HINTS)):
        value = value.operands[0]
    return value


def _asks_for(summed: Value, bound: Value) -> bool:
    """Whether a comparison with a bound takes part, aside from masks of loads."""
    compares = (part for part in reached(summed, _onward) if part.op == "compare")
    return any(inner is bound for one in compares for inner in reached(one, _onward))


def _onward(value: Value) -> tuple[Value, ...]:
    return () if value.op in ("load", "dot", "loop_index") else value.operands
