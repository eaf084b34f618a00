"""Verdicts: what may be off and by how much, held against the error of the kernel it replaces."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from each import examples
from hypothesis import given
from hypothesis import strategies as st

from tilewright.worker.compare.comparison import judge, judge_outputs
from tilewright.worker.compare.tolerance import ULP_OF_SINGLE
from tilewright.worker.memcheck import poison

pytestmark = pytest.mark.triton

Op = Callable[..., torch.Tensor]


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def nudged(x: torch.Tensor, seed: int) -> torch.Tensor:
    noise = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)).double()
    return x.double() * (1 + ULP_OF_SINGLE * (2 * noise - 1))


def verdict(
    function: Op, inputs: list[torch.Tensor], original: torch.Tensor, candidate: torch.Tensor,
    rtol: float = 1e-2, atol: float = 1e-2,
) -> dict[str, Any]:  # fmt: skip
    """Judge with an oracle in double precision and its answer to inputs an ulp off."""
    oracle = function(*(x.double() for x in inputs))
    noisy = [function(*(nudged(x, seed) for x in inputs)) for seed in (1, 2)]
    return judge(oracle, original, candidate, rtol=rtol, atol=atol, noisy=noisy)


def tf32(x: torch.Tensor) -> torch.Tensor:
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def split_k(a: torch.Tensor, b: torch.Tensor, parts: int, dtype: torch.dtype) -> torch.Tensor:
    """A product summed in ``dtype`` over parts of the inner dimension."""
    pieces = [x @ y for x, y in zip(a.chunk(parts, 1), b.chunk(parts, 0), strict=True)]
    total = torch.zeros_like(pieces[0], dtype=dtype)
    for piece in pieces:
        total = (total + piece).to(dtype)
    return total.to(a.dtype)


@pytest.mark.parametrize("inner", [32, 128, 1024])
def test_a_product_may_be_reordered_but_not_lose_precision(inner: int) -> None:
    a, b = drawn(96, inner), drawn(inner, 64, seed=1)
    original = a @ b
    for parts in (2, 4, 16):
        assert verdict(torch.matmul, [a, b], original, split_k(a, b, parts, torch.float32))["equal"]
    assert verdict(torch.matmul, [a, b], original, (a.double() @ b.double()).float())["equal"]
    for worse in (
        tf32(a) @ tf32(b),
        (a.bfloat16().float() @ b.bfloat16().float()),
        split_k(a, b, 8, torch.float16),
    ):
        found = verdict(torch.matmul, [a, b], original, worse, rtol=0.1, atol=1.0)
        assert not found["equal"]
        assert found["error_ratio"] > 100
        assert "within rtol 0.1 and atol 1, but its error is" in found["message"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_product_of_halves_may_not_be_summed_in_halves(dtype: torch.dtype) -> None:
    a, b = drawn(96, 512, dtype=dtype), drawn(512, 64, seed=1, dtype=dtype)
    original = (a.float() @ b.float()).to(dtype)
    retiled = split_k(a.float(), b.float(), 4, torch.float32).to(dtype)
    assert verdict(torch.matmul, [a, b], original, retiled)["equal"]
    worse = split_k(a.float(), b.float(), 256, dtype).to(dtype)
    found = verdict(torch.matmul, [a, b], original, worse, rtol=0.5, atol=5.0)
    assert not found["equal"]
    assert "times the original's" in found["message"]


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


@pytest.mark.parametrize("scale", [1.0, 64.0])
def test_a_softmax_by_powers_of_two_passes_and_zeros_or_a_mean_do_not(scale: float) -> None:
    x = drawn(5, 3000) * scale
    off = x - x.amax(1, keepdim=True)
    original = off.exp() / off.exp().sum(1, keepdim=True)
    power = (off * 1.4426950408889634).exp2()
    for fine in (
        power / power.sum(1, keepdim=True),
        off.exp() * (1 / off.exp().sum(1, keepdim=True)),
    ):
        assert verdict(softmax, [x], original, fine, atol=1e-2)["equal"]
    for wrong in (torch.zeros_like(x), torch.full_like(x, 1 / 3000)):
        # The spec's tolerance alone would let both pass where outputs are that small.
        assert not verdict(softmax, [x], original, wrong, atol=1e-2)["equal"]
        assert not judge(original, None, wrong, rtol=1e-2, atol=1e-2)["equal"]


def layernorm(x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(1, keepdim=True)
    return centred / torch.sqrt((centred * centred).mean(1, keepdim=True) + 1e-5)


def test_one_pass_statistics_pass_on_centred_data_and_fail_on_a_large_mean() -> None:
    def one_pass(x: torch.Tensor) -> torch.Tensor:
        mean = x.mean(1, keepdim=True)
        return (x - mean) / torch.sqrt((x * x).mean(1, keepdim=True) - mean * mean + 1e-5)

    centred, far = drawn(64, 700), drawn(64, 700) * 0.1 + 300
    assert verdict(layernorm, [centred], layernorm(centred), one_pass(centred))["equal"]
    assert not verdict(layernorm, [far], layernorm(far), one_pass(far))["equal"]


def test_garbage_in_a_small_row_is_not_hidden_by_a_large_one() -> None:
    x = drawn(8, 128)
    x[3] *= 1e7
    wrong = x.clone()
    wrong[5] = wrong[5] * 1.01
    found = judge(x.double(), x, wrong, rtol=0.1, atol=10.0)
    assert not found["equal"]
    assert "all in row 5" in found["message"]


def test_a_row_that_is_zero_by_luck_may_be_nearly_so() -> None:
    y = drawn(4, 64)
    y[2] = 0
    near = y.clone()
    near[2] = 1e-6
    assert judge(y, None, near, rtol=1e-2, atol=1e-5)["equal"]
    far = y.clone()
    far[2] = 1e-3
    assert not judge(y, None, far, rtol=1e-2, atol=1e-1)["equal"]


def test_rows_of_single_elements_are_judged_together() -> None:
    x = drawn(2000, 700)
    backwards = x.flip(1).cumsum(1)[:, -1:]
    found = verdict(lambda v: v.sum(1, keepdim=True), [x], x.sum(1, keepdim=True), backwards)
    assert found["equal"], found["message"]


@pytest.mark.parametrize(
    ("expected", "actual", "words"),
    [
        (torch.zeros(3), torch.zeros(3).half(), "expected dtype float32, got float16"),
        (torch.zeros(3), torch.zeros(1), "expected shape (3,), got (1,)"),
        (torch.zeros(3), 0.0, "expected a tensor, got a number"),
        (1, 1.0, "expected 1, got 1.0"),
        (torch.tensor([1, 2, 3]), torch.tensor([1, 2, 4]), "1 of 3 elements differ, first at 2"),
        (torch.tensor([True]), torch.tensor([False]), "expected True, got False"),
    ],
)
def test_kind_dtype_shape_and_integers_are_exact(expected: Any, actual: Any, words: str) -> None:
    found = judge(expected, None, actual, rtol=1.0, atol=9.0)
    assert not found["equal"]
    assert words in found["message"]


def test_an_output_may_not_be_narrower_than_the_originals_though_the_oracle_is_wider() -> None:
    y = drawn(8, 64)
    assert "expected dtype float32, got float16" in str(
        judge(y.double(), y, y.half(), rtol=1.0, atol=9.0)["message"]
    )
    assert judge(y.double(), None, y, rtol=1e-5, atol=1e-5, wide=True)["equal"]
    assert not judge(y.double(), None, y, rtol=1e-5, atol=1e-5)["equal"]


def test_nan_and_infinities_must_be_where_they_belong() -> None:
    y = drawn(4, 64)
    y[0, 3], y[1, 5], y[2, 7] = torch.nan, torch.inf, -torch.inf
    assert judge(y.double(), y, y.clone(), rtol=0.0, atol=0.0)["equal"]
    for at, value in (((0, 3), 0.0), ((1, 5), torch.nan), ((2, 7), torch.inf), ((3, 3), torch.nan)):
        wrong = y.clone()
        wrong[at] = value
        assert not judge(y.double(), y, wrong, rtol=1.0, atol=1e9)["equal"]


def test_where_the_original_deviates_it_is_the_contract_and_a_note_says_so() -> None:
    oracle = drawn(4, 64)
    oracle[0, 3] = torch.nan
    original = oracle.clone()
    original[0, 3] = 0.0
    found = judge(oracle.double(), original, original.clone(), rtol=1e-5, atol=1e-5)
    assert found["equal"], found["message"]
    assert "1 values are NaN or infinite in only one of" in found["notes"][0]
    other = original.clone()
    other[0, 3] = 5.0
    assert not judge(oracle.double(), original, other, rtol=1e-5, atol=1e-5)["equal"]


def test_at_the_edge_of_overflow_either_side_will_do() -> None:
    y = torch.full((4, 32), 65519.0, dtype=torch.float64)
    largest = torch.full((4, 32), 65504.0).half()
    assert judge(y, largest, torch.full_like(largest, torch.inf), rtol=1e-3, atol=0.0)["equal"]
    assert not judge(y, largest, torch.full_like(largest, -torch.inf), rtol=1e-3, atol=0.0)["equal"]


def test_what_the_original_leaves_unwritten_is_nobodys_duty() -> None:
    original = drawn(4, 64)
    poison.fill(original[:, 60:])
    expected = original.double().nan_to_num()
    found = judge(expected, original, original.nan_to_num(7.0), rtol=1e-5, atol=1e-5)
    assert found["equal"], found["message"]
    assert "the original leaves 16 elements unwritten" in " ".join(found["notes"])


def test_another_layout_of_the_output_is_noted() -> None:
    y = drawn(16, 64)
    found = judge(y, y, y.T.contiguous().T, rtol=0.0, atol=0.0)
    assert found["equal"]
    assert found["notes"] == ["strides are (1, 16) instead of (64, 1)"]


def test_outputs_are_judged_by_place_and_the_first_wrong_one_speaks() -> None:
    y = {"output[0]": drawn(64), "output[1]": torch.arange(4)}
    wrong = {"output[0]": drawn(64), "output[1]": torch.arange(4) + 1}
    found = judge_outputs(y, y, wrong, rtol=1e-5, atol=1e-5)
    assert found["message"].startswith("output[1]: 4 of 4 elements differ")
    assert found["message"].endswith("everything is one element too early") or found["wrong"] == 4


def test_an_input_that_is_or_is_not_changed_in_place_is_named() -> None:
    y = {"output": drawn(64), "total": drawn(64)}
    less, more = {"output": y["output"]}, {**y, "x": drawn(64)}
    assert judge_outputs(y, y, less, rtol=1.0, atol=1.0)["message"] == (
        "expected 2 outputs, got 1: total did not come back or was not changed in place"
    )
    assert judge_outputs(y, y, more, rtol=1.0, atol=1.0)["message"] == (
        "expected 2 outputs, got 3: x came back or was changed in place as well"
    )
    other = {"x": y["output"]}
    assert judge_outputs(y, y, other, rtol=1.0, atol=1.0)["message"] == "expected 2 outputs, got 1"


def test_long_rows_and_many_chunks_are_judged_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.worker.compare import comparison

    y = drawn(3, 10_000)
    wrong = y.clone()
    wrong[2, 9_999] += 0.1
    monkeypatch.setattr(comparison, "chunk_of", lambda _: 700)
    assert judge(y.double(), y, y.clone(), rtol=1e-5, atol=1e-6)["equal"]
    found = judge(y.double(), y, wrong, rtol=1e-5, atol=1e-6)
    assert "1 of 30000 elements differ, first at (2, 9999)" in found["message"]


@examples(60)
@given(
    shape=st.lists(st.integers(1, 40), min_size=1, max_size=3),
    factor=st.floats(1.001, 100.0),
    seed=st.integers(0, 1000),
    has_original=st.booleans(),
)
def test_nothing_beyond_the_tolerance_is_ever_accepted(
    shape: list[int], factor: float, seed: int, has_original: bool
) -> None:
    y = drawn(*shape, seed=seed)
    rtol, atol = 1e-3, 1e-3
    at = int(torch.randint(y.numel(), (), generator=torch.Generator().manual_seed(seed)))
    wrong = y.clone().reshape(-1)
    wrong[at] += factor * (atol + rtol * wrong[at].abs()) + 1e-6
    base = y if has_original else None
    found = judge(y, base, wrong.reshape(shape), rtol=rtol, atol=atol)
    assert not found["equal"]
    assert found["max_abs_error"] > atol


@examples(40)
@given(
    shape=st.lists(st.integers(1, 40), min_size=1, max_size=3),
    seed=st.integers(0, 1000),
    dtype=st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64]),
)
def test_the_original_itself_is_always_accepted(
    shape: list[int], seed: int, dtype: torch.dtype
) -> None:
    oracle = drawn(*shape, seed=seed).double()
    original = oracle.to(dtype)
    assert judge(oracle, original, original.clone(), rtol=1e-2, atol=1e-5)["equal"]


@pytest.mark.parametrize(("scaled", "error", "right"), [
    (True, 3e-3, True), (True, 3e-2, False), (False, 3e-3, False),
])  # fmt: skip
def test_the_most_unstable_row_of_scaled_inputs_counts_for_all(
    scaled: bool, error: float, right: bool
) -> None:
    oracle = torch.ones(8, 64, dtype=torch.float64)
    nudged = oracle.clone()
    nudged[0] += 1e-3
    candidate = oracle.float()
    candidate[5] += error
    found = judge(
        oracle, oracle.float(), candidate, rtol=1e-5, atol=1e-5, noisy=[nudged], scaled=scaled
    )
    assert found["equal"] is right
