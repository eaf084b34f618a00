"""What is said of a wrong result, for the mistakes that kernels make."""

from collections.abc import Callable

import pytest
import torch

from tilewright.worker.compare.comparison import judge, judge_outputs
from tilewright.worker.compare.output_tree import difference
from tilewright.worker.inputs import tensor_files
from tilewright.worker.memcheck import poison

pytestmark = pytest.mark.triton

Change = Callable[[torch.Tensor], torch.Tensor]


def matrix(rows: int = 64, columns: int = 64) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(5))


def put(value: float, *where: slice | int) -> Change:
    def change(x: torch.Tensor) -> torch.Tensor:
        x[where] = value
        return x

    return change


def unwritten(*where: slice | int) -> Change:
    def change(x: torch.Tensor) -> torch.Tensor:
        poison.fill(x[where])
        return x

    return change


def times(factor: float, *where: slice | int) -> Change:
    def change(x: torch.Tensor) -> torch.Tensor:
        x[where] *= factor
        return x

    return change


def stripes(length: int, step: int) -> Change:
    def change(x: torch.Tensor) -> torch.Tensor:
        x[:, torch.arange(x.shape[1]) % step < length] = 9.0
        return x

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: x.T.clone(), "the result is the transpose"),
        (lambda x: x * 0, "everything got is zero"),
        (lambda x: x * 0 + 0.5, "everything got is 0.5"),
        (lambda x: x * 1.5, "everything got is 1.5 times what was expected"),
        (lambda x: -x, "everything got has the opposite sign"),
        (lambda x: x + 3, "everything got is 3 more than was expected"),
        (lambda x: x.roll(1, 1), "everything is one column too late"),
        (lambda x: x.roll(-1, 0), "everything is one row too early"),
        (lambda x: x.flip(0), "the rows come in the reverse order"),
        (lambda x: x.roll(32, 1), "the two halves of the columns are swapped"),
        (lambda x: x[:1].expand(64, 64).clone(), "every row is that of row 0"),
        (put(9.0, slice(None), slice(1, None, 4)), "all in every 4th of the columns (from 1)"),
        (put(9.0, slice(0, None, 2)), "all in every second of the rows (from 0)"),
        (put(9.0, slice(60, None)), "all in the last rows 60..63"),
        (stripes(3, 4), "all in 3 of every 4 columns (0..2 and so on)"),
        (stripes(16, 32), "all in 16 of every 32 columns (0..15 and so on)"),
        (lambda x: x.tril(), "what differs is zero, all above the diagonal"),
        (lambda x: x - x.diag().diag(), "what differs is zero, all on the diagonal"),
        (lambda x: x.relu(), "what differs is zero, all where a negative number was expected"),
        (lambda x: x.abs(), "the opposite sign, all where a negative number was expected"),
        (lambda x: x + matrix(1, 64), "each column is off by an amount of its own"),
        (lambda x: x * matrix(64, 1), "each row is off by a factor of its own"),
        (put(9.0, 63), "all in the last row 63"),
        (put(torch.nan, 3), "NaN where a number was expected, all in row 3"),
        (put(0.0, slice(None), slice(48, None)), "what differs is zero, all in the last columns"),
        (times(2.0, slice(32, 48), slice(16, 32)), "what differs is 2 times what was expected"),
        (put(9.0, slice(32, 48), slice(16, 32)),
         "all in one block of 16 x 16, rows 32..47 and columns 16..31: the share of one program"),
        (unwritten(slice(None), slice(32, None)), "never written: the last columns 32..63"),
        (unwritten(), "nothing was ever written there"),
    ],
)  # fmt: skip
def test_a_pattern_is_called_by_its_name(change: Change, words: str) -> None:
    x = matrix()
    found = judge(x, None, change(x.clone()), rtol=1e-4, atol=1e-5)
    assert not found["equal"]
    assert words in found["message"]


def test_what_is_left_after_whole_tiles_is_said() -> None:
    x = matrix(70, 45)
    found = judge(x, None, put(9.0, slice(64, None))(x.clone()), rtol=1e-4, atol=1e-5)
    assert "the last rows 64..69 (what is left after whole tiles of 64)" in found["message"]
    wrong = x.clone()
    poison.fill(wrong[64:])
    poison.fill(wrong[:, 32:])
    found = judge(x, None, wrong, rtol=1e-4, atol=1e-5)
    assert "never written: all outside of rows 0..63 and columns 0..31" in found["message"]


def test_other_dimensions_are_named_by_number() -> None:
    x = torch.randn(4, 8, 16, generator=torch.Generator().manual_seed(1))
    found = judge(x, None, put(9.0, 0)(x.clone()), rtol=1e-4, atol=1e-5)
    assert "128 of 512 elements differ, first at (0, 0, 0)" in found["message"]
    assert "all in index 0 of dimension 0" in found["message"]
    found = judge(x, None, x[:1].expand(x.shape).clone(), rtol=1e-4, atol=1e-5)
    assert "every index of dimension 0 is that of index 0" in found["message"]
    line = torch.randn(100, generator=torch.Generator().manual_seed(1))
    found = judge(line, None, put(9.0, slice(96, None))(line.clone()), rtol=1e-4, atol=1e-5)
    assert "the last elements 96..99 (what is left after whole tiles of 32)" in found["message"]


def test_outputs_that_are_swapped_are_called_so() -> None:
    mean, spread = matrix(1, 64)[0], matrix(1, 64)[0] * 3 + 1
    found = judge_outputs(
        {"mean": mean, "spread": spread}, None, {"mean": spread, "spread": mean},
        rtol=1e-4, atol=1e-5,
    )  # fmt: skip
    assert found["message"].startswith("mean: 64 of 64 elements differ")
    assert found["message"].endswith("; it is what spread should be")


def test_truth_values_that_are_all_wrong_are_called_the_opposite() -> None:
    x = matrix() > 0
    assert "everything got is the opposite" in judge(x, None, ~x, rtol=0.0, atol=0.0)["message"]


def test_one_wrong_element_is_not_explained() -> None:
    x = matrix()
    found = judge(x, None, put(9.0, 3, 5)(x.clone()), rtol=1e-4, atol=1e-5)
    assert found["message"].startswith("1 of 4096 elements differ, first at (3, 5): expected")
    assert ";" not in found["message"]


def test_a_rounding_is_no_factor_of_each_row() -> None:
    x = matrix()
    assert "of its own" not in judge(x, None, x.half().float(), rtol=1e-6, atol=1e-6)["message"]


def test_dictionaries_with_other_keys_are_told_apart_by_them() -> None:
    expected, actual = ({"y": 1, "pos": {"a": 2}}, {"y": 1}), ({"y": 1, "pos": {"b": 2}}, {"y": 1})
    trees = [tensor_files.flatten(each[0])[1] for each in (expected, actual)]
    assert difference(*trees) == "expected the keys a as output['pos'], got b"
    fewer = tensor_files.flatten(expected[1])[1]
    assert difference(trees[0], fewer) == "expected the keys y, pos to be returned, got y"


def test_noise_has_no_pattern() -> None:
    x = matrix()
    found = judge(x, None, matrix().sort(0).values, rtol=1e-4, atol=1e-5)
    assert found["message"].count(";") == 0


def test_a_small_error_is_not_taken_for_a_move() -> None:
    x = torch.softmax(matrix(5, 1500) * 64, -1)
    wrong = x.clone()
    wrong[1, 7] += 0.01
    assert "too late" not in judge(x, None, wrong, rtol=1e-4, atol=1e-5)["message"]
