"""Element types of arithmetic on facts, Python numbers among them."""

from collections.abc import Iterable

import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.model import TileFacts


def weak_type(facts: TileFacts) -> str | None:
    """The type of a Python number as a tensor."""
    if facts.constant is not None:
        number = facts.constant.value
        return types.of_number(number) if isinstance(number, int | float) else None
    return "i32" if facts.affine is not None else None


def arithmetic_type(left: TileFacts, right: TileFacts, operator: str) -> str | None:
    """The element type of an arithmetic result."""
    weak = 0 if left.dtype == types.WEAK else 1 if right.dtype == types.WEAK else None
    one = weak_type(left) if left.dtype == types.WEAK else left.dtype
    two = weak_type(right) if right.dtype == types.WEAK else right.dtype
    if left.dtype == types.WEAK and right.dtype == types.WEAK:
        weak = None
    if one is None or two is None:
        # A float tile stays what it is whatever number it meets, unless that is a float64.
        known = two if weak == 0 else one if weak == 1 else None
        divides = operator in ("Div", "FloorDiv", "Mod")
        return known if types.is_float(known) and not divides else None
    if operator == "Div":
        return types.quotient(one, two, weak)
    return types.promote(one, two, weak, divides=operator in ("FloorDiv", "Mod"))


def common_type(parts: Iterable[TileFacts], divides: bool = False) -> str | None:
    """The element type of an elementwise function of several operands."""
    found: TileFacts | None = None
    for part in parts:
        if found is None:
            found = part
            continue
        dtype = arithmetic_type(found, part, "Mod" if divides else "Add")
        is_weak = found.dtype == types.WEAK and part.dtype == types.WEAK
        if dtype is None:
            return None
        found = found if is_weak else TileFacts(found.kind, (), dtype)
    return None if found is None else tensor_type(found)


def tensor_type(facts: TileFacts) -> str | None:
    """The element type as a tensor: a Python number becomes one."""
    return weak_type(facts) if facts.dtype == types.WEAK else facts.dtype
