"""Inputs that lie otherwise in memory, and inputs of other kinds of values."""

from typing import Any

import pytest
import torch

from tilewright.worker.inputs import generation, layouts, value_families
from tilewright.worker.memcheck import redzones
from tilewright.worker.protocol import JobError

pytestmark = pytest.mark.triton


def inputs() -> dict[str, Any]:
    case = {
        "inputs": [
            {"name": "x", "shape": [6, 10], "dtype": "float32"},
            {"name": "y", "shape": [6, 10], "dtype": "float32"},
            {"name": "ids", "shape": [7], "dtype": "int64", "low": 0, "high": 6},
            {"name": "n", "value": 3},
        ]
    }
    return generation.make_inputs(case, 11)


@pytest.mark.parametrize(
    ("layout", "strides", "offset"),
    [
        ("plain", (10, 1), 0),
        ("strided", (13, 1), 0),
        ("transposed", (1, 6), 0),
        ("offset", (10, 1), 1),
        ("expanded", (0, 1), 0),
        ("aliased", (10, 1), 0),
    ],
)
def test_a_layout_keeps_values_and_is_kept_between_bands(
    layout: str, strides: tuple[int, ...], offset: int
) -> None:
    given = inputs()
    made = layouts.laid_out(dict(given), layout)
    assert made["x"].stride() == strides
    assert made["x"].storage_offset() == offset
    assert made["n"] == 3
    if layout != "expanded":
        assert torch.equal(made["x"], given["x"])
    again = layouts.laid_out(dict(made), layout)
    around = redzones.Bands()
    placed = around.place_all(dict(again), "input")
    for name in ("x", "y", "ids"):
        assert torch.equal(placed[name], made[name])
        assert placed[name].stride() == made[name].stride()
        assert (
            placed[name].data_ptr() % 16
            == made[name].storage_offset() * made[name].element_size() % 16
        )
    assert (placed["x"].data_ptr() == placed["y"].data_ptr()) == (layout == "aliased")
    assert around.out_of_bounds({}) == []


def test_what_lies_between_rows_is_no_number() -> None:
    x = layouts.laid_out(inputs(), "strided")["x"]
    between = torch.as_strided(x, (6, 3), (13, 1), 10)
    assert torch.isnan(between).all()


def test_a_write_past_the_end_of_shared_memory_is_seen() -> None:
    around = redzones.Bands()
    placed = around.place_all(layouts.laid_out(inputs(), "aliased"), "input")
    placed["y"][0, 0] = 42
    assert placed["x"][0, 0] == 42
    beyond = torch.as_strided(placed["y"], (64,), (1,), int(placed["y"].storage_offset()))
    beyond[60:] = 1
    assert [fault.text for fault in around.out_of_bounds({})] == [
        "writes 4 elements past the end of input x (shape (60,), float32)"
    ]


def test_a_layout_that_is_not_there_is_refused() -> None:
    with pytest.raises(JobError, match="unknown layout 'sideways'"):
        layouts.laid_out({}, "sideways")


def family(name: str, dtype: str = "float32", **spec: Any) -> torch.Tensor:
    case = {"inputs": [{"name": "x", "shape": [64, 100], "dtype": dtype, **spec}]}
    made: torch.Tensor = generation.make_inputs(case, 3, None, name)["x"]
    return made


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_families_are_what_they_are_called(dtype: str) -> None:
    made = {name: family(name, dtype).double() for name in value_families.FAMILIES}
    assert made["large"].abs().max() > 88, "far enough for exp to overflow"
    assert made["tiny"].abs().max() < 0.01
    assert 0.85 < (made["sparse"] == 0).double().mean() < 0.95
    assert (made["sparse"][:, -1] != 0).all(), "the end of a row is never empty"
    zeros = made["signed_zeros"] == 0
    assert torch.signbit(made["signed_zeros"])[zeros].any()
    assert not torch.signbit(made["signed_zeros"])[zeros].all()
    assert int(torch.isnan(made["nonfinite"]).sum()) == 1
    assert sorted(made["nonfinite"][torch.isinf(made["nonfinite"])].tolist()) == [
        -torch.inf, torch.inf,
    ]  # fmt: skip
    assert made["outliers"][::2].abs().max() > 1000
    assert made["outliers"][1::2].abs().max() < 10, "every other row is as usual"
    assert made["constant_rows"].std(1).max() == 0
    for name, one in made.items():
        assert name == "nonfinite" or torch.isfinite(one).all(), name


def test_ranges_integers_and_promises_hold_in_every_family() -> None:
    for name in value_families.FAMILIES:
        ranged = family(name, low=2.0, high=3.0)
        assert 2 <= ranged.min() <= ranged.max() <= 3
        ids = family(name, "int64", low=0, high=6)
        assert 0 <= ids.min() <= ids.max() < 6
        sums = family(name, transforms=["softmax"]).sum(-1)
        assert torch.allclose(sums, torch.ones(64))


def test_scalars_with_a_range_vary_with_the_family() -> None:
    case = {"inputs": [{"name": "a", "value": 0.5, "low": 2.0, "high": 3.0}]}
    assert generation.make_inputs(case, 1)["a"] == 0.5
    assert 2 <= generation.make_inputs(case, 1, None, "large")["a"] <= 3
    case = {"inputs": [{"name": "a", "value": 4}]}
    assert generation.make_inputs(case, 1, None, "large")["a"] == 4


def test_a_seed_counts_with_all_its_bits() -> None:
    case = {"inputs": [{"name": "x", "shape": [1000], "dtype": "float32"}]}
    made = [generation.make_inputs(case, seed)["x"] for seed in (7, 7 + 2**32, 7 + 2**63, 7)]
    assert torch.equal(made[0], made[3])
    assert not torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])
    assert all(abs(float(x.mean())) < 0.15 and 0.9 < float(x.std()) < 1.1 for x in made)


def test_nudged_inputs_are_off_by_an_ulp_of_single_precision() -> None:
    given = inputs()
    off = generation.nudged(given, 1)
    assert off["x"].dtype == torch.float64
    change = (off["x"] / given["x"].double() - 1).abs()
    assert 0 < float(change.max()) <= 2.0**-23
    assert torch.equal(off["ids"], given["ids"])
    assert torch.equal(off["x"], generation.nudged(given, 1)["x"])
    assert not torch.equal(off["x"], generation.nudged(given, 2)["x"])


def test_large_values_of_a_module_have_both_signs() -> None:
    class Module:
        @staticmethod
        def get_inputs() -> list[Any]:
            return [torch.rand(50, 50, dtype=torch.float16), torch.arange(4), 3]

    case = {"inputs_from_module": True, "inputs": []}
    plain = generation.make_inputs(case, 1, Module)
    large = generation.make_inputs(case, 1, Module, "large")
    assert plain["input_0"].min() >= 0
    assert large["input_0"].dtype == torch.float16
    assert large["input_0"].min() < -10 < 10 < large["input_0"].max()
    assert torch.equal(large["input_1"], plain["input_1"])
    assert large["input_2"] == 3
