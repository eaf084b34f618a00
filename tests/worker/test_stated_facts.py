"""Inputs keep to what a spec states of them, in every layout and family of values."""

import pytest

torch = pytest.importorskip("torch")

from tilewright.worker.inputs import generation, layouts  # noqa: E402
from tilewright.worker.protocol import JobError  # noqa: E402

pytestmark = pytest.mark.triton
ALIGNED = {"x": {"align": 16}}


@pytest.mark.parametrize("layout", ["offset", "strided", "transposed"])
def test_an_aligned_input_stays_so_and_is_laid_out_otherwise(layout: str) -> None:
    value = torch.randn(8, 16)
    laid = layouts.laid_out({"x": value}, layout, ALIGNED)["x"]
    assert torch.equal(laid, value)
    assert laid.storage_offset() * 4 % 16 == 0
    assert all(size == 1 or size * 4 % 16 == 0 for size in laid.stride())
    assert (laid.storage_offset(), laid.stride()) != (0, (16, 1))
    plain = layouts.laid_out({"x": value}, "offset")["x"]
    assert plain.storage_offset() == 1


def test_rows_of_a_contiguous_input_stay_together() -> None:
    value = torch.randn(8, 16)
    for layout in ("strided", "transposed"):
        assert layouts.laid_out({"x": value}, layout, {"x": {"contiguous": True}})["x"] is value


def made(values: str = "normal", **spec: object) -> torch.Tensor:
    given = {"name": "x", "shape": [6, 50], "dtype": "float32", **spec}
    return generation.make_input(given, generation.stream(3, "x"), values)


def test_numbers_are_as_stated() -> None:
    assert bool(made("nonfinite", facts={"finite": True}).isfinite().all())
    assert not bool(made("nonfinite").isfinite().all())
    assert bool((made(facts={"nonnegative": True}) >= 0).all())
    ascending = made(facts={"sorted": True})
    assert torch.equal(ascending, ascending.sort(-1).values)
    integers = {"dtype": "int64", "low": 5, "high": 400, "facts": {"unique": True, "sorted": True}}
    once = made(**integers)
    assert len(once.unique()) == once.numel()
    assert int(once.min()) >= 5
    assert int(once.max()) < 400
    with pytest.raises(JobError, match="cannot all differ within 100"):
        made(dtype="int64", low=0, high=100, facts={"unique": True})
