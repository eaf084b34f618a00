"""NaN that a result does not depend on may be left out; NaN that it does may not."""

from collections.abc import Callable

import pytest
import torch

from tilewright.worker.trials.masked_nan import judged_without
from tilewright.worker.trials.results import Results

NAN = float("nan")
X = torch.tensor([[1.0, NAN, 2.0], [3.0, 4.0, NAN]])
Function = Callable[[torch.Tensor], torch.Tensor]


def lower_product(x: torch.Tensor) -> torch.Tensor:
    return torch.tril(torch.ones(3, 3)) @ x.T


def finite_part(x: torch.Tensor, function: Function) -> torch.Tensor:
    return function(x.nan_to_num(0.0))


def count(function: Function, given: torch.Tensor) -> int:
    """How many NaN of a function's result a candidate's may be without."""

    def results(x: torch.Tensor) -> Results:
        return Results(("output",), (function(x),), {})

    def filled(number: float, only: str | None) -> Results:
        assert only is None
        return results(X.where(X.isfinite(), number))

    oracle, own, found = judged_without(
        results(X), results(X), Results(("output",), (given,), {}), filled, filled
    )
    changed = oracle.values[0].isfinite() & function(X).isnan()
    assert own is not None
    assert torch.equal(own.values[0].isnan(), oracle.values[0].isnan())
    assert int(changed.sum()) == found
    return found


def test_what_a_mask_multiplies_by_zero_may_be_left_out() -> None:
    skipping = lower_product(X).clone()
    assert skipping.isnan().tolist() == [[True, True], [True, True], [True, True]]
    skipping[0] = torch.tensor([1.0, 3.0])
    skipping[1, 1] = 7.0
    assert count(lower_product, skipping) == 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(1),
        lambda x: x.amax(1),
        lambda x: x.amin(1),
        lambda x: x.clamp(-1, 1),
        lambda x: torch.softmax(x, 1),
        lambda x: x * x,
        lambda x: x.abs() * 0.5,
        lambda x: torch.sigmoid(x),
        lambda x: x.relu(),
        lambda x: (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True),
    ],
)
def test_nan_that_a_result_depends_on_may_not_be_swallowed(function: Function) -> None:
    swallowed = finite_part(X, function)
    assert bool((function(X).isnan() & swallowed.isfinite()).any())
    assert count(function, swallowed) == 0


def test_an_infinity_of_another_input_may_be_what_makes_it_finite() -> None:
    """A key of minus infinity gets no weight; the value after it is masked out, and NaN."""
    keys, values = torch.tensor([1.0, -torch.inf, 2.0]), torch.tensor([3.0, 5.0, NAN])
    mask = torch.tensor([0.0, 0.0, -torch.inf])

    def result(keys: torch.Tensor, values: torch.Tensor) -> Results:
        weights = torch.softmax(keys + mask, 0)
        return Results(("output",), ((weights * values).sum().reshape(1),), {})

    def filled(number: float, only: str | None) -> Results:
        fill = {name: only in (None, name) for name in ("keys", "values")}
        return result(
            keys.where(keys.isfinite(), number) if fill["keys"] else keys,
            values.where(values.isfinite(), number) if fill["values"] else values,
        )

    expected, given = result(keys, values), Results(("output",), (torch.tensor([3.0]),), {})
    assert judged_without(expected, None, given, filled, filled)[2] == 0
    oracle, _, found = judged_without(expected, None, given, filled, filled, ["keys", "values"])
    assert (float(oracle.values[0]), found) == (3.0, 1)
