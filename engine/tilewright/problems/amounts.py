"""Numbers of a spec: plain ones, dimensions, formulas over them, extents and ranges.

Every failure is a ProblemError with the line.
"""

import math
import sys
from collections.abc import Mapping
from typing import TypeGuard

from tilewright.problems.dtypes import integer_bounds, is_floating
from tilewright.problems.formula import FormulaError, Number, evaluate
from tilewright.problems.model import Dim
from tilewright.problems.nodes import Scalar, SpecNode

LARGEST = sys.float_info.max
"""What a number of a spec may be at most: YAML's whole numbers have no end."""


def is_number(value: object) -> TypeGuard[Number]:
    """A number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def formula(node: SpecNode, what: str, text: object, dims: Mapping[str, Dim]) -> Number:
    """What a formula over the dimensions comes to; ``what`` names it in messages."""
    if not isinstance(text, str):
        node.fail(f"{what} must be a number or a formula over the dimensions, not {text!r}")
    try:
        return evaluate(text, dims)
    except FormulaError as problem:
        node.fail(f"{what}: {problem}")


def extent_of(node: SpecNode, name: str, dims: Mapping[str, Dim]) -> int:
    """One extent of an input's shape."""
    value: Scalar = node.raw if node.raw in dims else node.scalar()
    extent = value if is_number(value) else formula(node, f"shape of '{name}'", value, dims)
    if isinstance(extent, bool) or not isinstance(extent, int):
        node.fail(f"shape of '{name}': {value} is {extent!r}; an extent is a whole number")
    if extent < 0:
        node.fail(f"shape of '{name}': {value} is {extent}; an extent cannot be negative")
    return extent


def range_of(
    node: SpecNode | None, name: str, dtype: str, dims: Mapping[str, Dim]
) -> tuple[Number | None, Number | None]:
    """An input's ``range``: (low, high), both None without one."""
    if node is None:
        return None, None
    what = f"'range' of '{name}'"
    bounds = list(node.elements(what))
    if len(bounds) != 2:
        node.fail(f"{what} needs two bounds [low, high], the upper one excluded")
    low, high = (_number_or_dim(bound, what, dims) for bound in bounds)
    if any(isinstance(bound, float) and not math.isfinite(bound) for bound in (low, high)):
        node.fail(f"{what} must be finite; leave it out for normal numbers")
    if not low < high:
        node.fail(f"{what} is empty: {low} is not below {high}")
    if not is_floating(dtype) and not (isinstance(low, int) and isinstance(high, int)):
        node.fail(f"{what} must be of whole numbers, as its dtype is {dtype}")
    least, most = integer_bounds(dtype) or (low, high)
    if low < least or high - 1 > most:
        node.fail(f"{what} goes beyond {dtype}, which holds {least}..{most}")
    return low, high


def _number_or_dim(node: SpecNode, what: str, dims: Mapping[str, Dim]) -> Number:
    value: Scalar = node.raw if node.raw in dims else node.scalar()
    if isinstance(value, int | float):
        return value
    return formula(node, what, value, dims)
