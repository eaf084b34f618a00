"""Plain numbers that a spec gives several values of: what lies between is as good as they are."""

import math
from collections.abc import Iterable
from dataclasses import replace

from tilewright.problems.model import Case, Input

Bounds = dict[str, tuple[float, float]]


def bounds_of(cases: Iterable[Case]) -> Bounds:
    """The least and the largest value of each float argument that has several and no range."""
    values: dict[str, list[float]] = {}
    for case in cases:
        for one in case.inputs:
            if isinstance(one.value, float) and one.low is None and math.isfinite(one.value):
                values.setdefault(one.name, []).append(one.value)
    found = {name: (min(several), max(several)) for name, several in values.items()}
    return {name: ends for name, ends in found.items() if ends[0] < ends[1]}


def with_bounds(case: Case, bounds: Bounds) -> Case:
    """The case with such arguments free to be anything between, where other values are asked."""
    return replace(case, inputs=tuple(_bounded(one, bounds) for one in case.inputs))


def _bounded(one: Input, bounds: Bounds) -> Input:
    if one.name not in bounds or not isinstance(one.value, float) or one.low is not None:
        return one
    low, high = bounds[one.name]
    return replace(one, low=low, high=high)


def fixed(cases: Iterable[Case]) -> dict[str, int | float]:
    """Number arguments that have one value in all cases, and no range to vary in."""
    seen: dict[str, set[int | float]] = {}
    for case in cases:
        for one in case.inputs:
            if isinstance(one.value, int | float) and not isinstance(one.value, bool):
                seen.setdefault(one.name, set()).add(math.nan if one.low is not None else one.value)
    return {
        name: next(iter(values))
        for name, values in seen.items()
        if len(values) == 1 and not any(value != value for value in values)
    }
