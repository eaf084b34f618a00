"""NaN that an original only met where its result is masked out, and that a candidate left out.

A product with a masked zero is NaN where the other factor is. Whether a result depends on such a
factor shows on other inputs: with finite numbers of very different sizes in the place of NaN and
infinities, what is masked out comes out the same each time, and what is not does not. The numbers
stand in all inputs at once, then in one at a time: an infinity of another input may be what makes a
result finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from .results import Results

FILLS = (1e4, -3e3, 0.5)
"""Beyond all other numbers of either sign, and among them; squares and magnitudes differ, too."""

Filled = Callable[[float, str | None], Results]


def judged_without(
    expected: Results,
    base: Results | None,
    given: Results,
    oracle_on: Filled,
    original_on: Filled,
    inputs: Sequence[str] = (),
) -> tuple[Results, Results | None, int]:
    """(oracle, original, how many elements) with the NaN of what is masked out as the finite
    number that it is without it; 0 elements where there is none such.

    Args:
        oracle_on, original_on: what they give with a number in the place of NaN and infinities of
            one input, or of all.
        inputs: the names of inputs in which to look for them one by one.
    """
    count = 0
    for name in (None, *inputs):
        if not any(map(_dropped, expected.values, given.values)):
            break
        expected, base, found = _without_nan_of(expected, base, given, oracle_on, original_on, name)
        count += found
    return expected, base, count


def _without_nan_of(
    expected: Results,
    base: Results | None,
    given: Results,
    oracle_on: Filled,
    original_on: Filled,
    name: str | None,
) -> tuple[Results, Results | None, int]:
    filled = [oracle_on(fill, name) for fill in FILLS]
    own = None if base is None else original_on(FILLS[0], name)
    values, own_values, count = list(expected.values), list(base.values if base else ()), 0
    for at, (wanted, got) in enumerate(zip(expected.values, given.values, strict=True)):
        several = [one.values[at] for one in filled]
        free = _independent(wanted, got, several)
        if free is None:
            continue
        values[at] = torch.where(free, several[0], wanted)
        if own is not None:
            own_values[at] = torch.where(free, own.values[at], own_values[at])
        count += int(free.sum())
    oracle = replace(expected, values=tuple(values))
    return oracle, None if base is None else replace(base, values=tuple(own_values)), count


def _dropped(wanted: Any, got: Any) -> bool:
    """Whether an output is finite somewhere where NaN is expected."""
    return _are_floats(wanted, got) and bool((wanted.isnan() & got.isfinite()).any())


def _are_floats(wanted: Any, got: Any) -> bool:
    are_tensors = isinstance(wanted, torch.Tensor) and isinstance(got, torch.Tensor)
    return are_tensors and wanted.is_floating_point() and wanted.shape == got.shape


def _independent(wanted: Any, got: Any, several: Sequence[Any]) -> torch.Tensor | None:
    """Where NaN is expected and left out, and the result is the same and finite whatever stands in
    the place of the NaN; None where nothing is."""
    if not _dropped(wanted, got) or any(one.shape != wanted.shape for one in several):
        return None
    first = several[0]
    free: torch.Tensor = wanted.isnan() & got.isfinite() & first.isfinite()
    for other in several[1:]:
        free &= other == first
    return free
