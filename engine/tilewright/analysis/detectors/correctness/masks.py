"""What masks and addresses are made of."""

from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL
from tilewright.analysis.values import Value, values_within, walk

_LONGEST_AXIS = 2
"""Letters of a stride's name after ``stride_``: those of the tensor and of its axis."""


def terms(mask: Value) -> Iterator[Value]:
    """The conditions that a mask joins with "and"."""
    return (value for value in values_within(mask, _is_and) if not _is_and(value))


def _is_and(value: Value) -> bool:
    return value.is_binary("BitAnd") or (value.op == "bool" and value.detail == "And")


def unexpanded(value: Value) -> Value:
    """A value without added axes and casts."""
    while value.op in ("expand", "cast") and value.operands:
        value = value.operands[0]
    return value


def laid_along(term: Value, axis: int, rank: int) -> bool:
    """Whether a vector's condition was given the axes that put it along one of them."""
    while term.op == "cast" and term.operands:
        term = term.operands[0]
    added = str(term.detail).split(",")
    others = (part for place, part in enumerate(added) if place != axis)
    return (
        term.op == "expand"
        and len(added) == rank
        and added[axis] == ":"
        and all(part == "None" for part in others)
    )


def transposed(operand: Value) -> tuple[Value, bool]:
    """An operand of a product without casts and transposes, and whether it is turned."""
    turned = False
    while operand.operands:
        is_turn = operand.is_call(TL + "trans") and len(operand.positional) == 1
        is_turn = is_turn or (operand.op == "attribute" and operand.detail == "T")
        is_turn = is_turn or (operand.op == "method" and operand.detail == "trans")
        if not is_turn and operand.op != "cast":
            break
        turned ^= is_turn
        operand = operand.operands[0]
    return operand, turned


def upper_bounds(mask: Value) -> Iterator[tuple[Value, Value]]:
    """(index, bound) of each condition ``index < bound`` of a mask on lanes, axes left aside."""
    for term in terms(mask):
        compare = unexpanded(term)
        if compare.op != "compare":
            continue
        left, right = (unexpanded(v) for v in compare.operands)
        if compare.detail == "Gt":
            left, right = right, left
        if compare.detail in ("Lt", "Gt") and _is_index(left) and not _is_index(right):
            yield left, right


def is_all_bounds(mask: Value) -> bool:
    """Whether all that a mask asks for is that indices are below bounds."""
    return len(list(upper_bounds(mask))) == len(list(terms(mask)))


def _is_index(value: Value) -> bool:
    """Whether it counts lanes, and nothing loaded takes part."""
    parts = value.operations
    return "arange" in parts and "load" not in parts and "opaque" not in parts


def keeps_all(term: Value) -> bool:
    """Whether a condition leaves out no lane: ``arange(0, B) < B``, for a B of any value."""
    return any(
        index.op == "arange"
        and len(index.operands) > 1
        and index.operands[0].is_const(0)
        and _is_at_least(bound, index.operands[1])
        for index, bound in upper_bounds(term)
    )


def _is_at_least(bound: Value, length: Value) -> bool:
    """Whether a bound is a length, or they are numbers and it is no less."""
    if bound is length:
        return True
    numbers = [v.detail for v in (bound, length) if v.op == "const"]
    known = [number for number in numbers if isinstance(number, int)]
    return len(known) == 2 and known[0] >= known[1]


def additive_parts(pointer: Value) -> Iterator[Value]:
    """Addends of an address and the factors of each, axes left aside; nothing that is loaded."""
    return (v for v in values_within(pointer, is_sum) if v.op not in ("expand", "cast"))


def is_sum(value: Value) -> bool:
    """Whether it is summed or multiplied, or has an axis or a type more."""
    return value.op in ("expand", "cast") or value.is_binary("Add", "Mult")


def is_along_another_axis(one: Value, bounded: Value, index: Value, bound: Value) -> bool:
    """Whether two addresses go along axes of other names with one index, and a bound is of one.

    ``k < K`` of an address with ``k * stride_bk`` says nothing of ``k * stride_lr``: there the
    lanes count along R.
    """
    extents = {str(v.detail).lower() for v in walk(bound) if v.op == "param"}
    theirs, ours = (_axes(pointer, index) for pointer in (bounded, one))
    return bool(theirs & extents and ours) and not ours & extents


def _axes(pointer: Value, index: Value) -> set[str]:
    """The axes that an index moves along, by the last letters of the strides: ``k`` of stride_bk.

    Empty where a stride has no such name.
    """
    found = set[str]()
    for part in values_within(pointer, is_sum):
        factors = [unexpanded(v) for v in part.operands] if part.is_binary("Mult") else []
        if index not in factors:
            continue
        for factor in factors:
            name = str(factor.detail).lower() if factor.op == "param" else ""
            head, _, axis = name.rpartition("_")
            if factor is not index and not (head == "stride" and len(axis) <= _LONGEST_AXIS):
                return set()
            found.update(axis[-1:])
    return found
