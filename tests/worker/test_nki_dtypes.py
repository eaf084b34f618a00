"""Rounding of NKI's types against torch's, and which type two of them make."""

import numpy as np
import pytest
import torch

from tilewright.worker.nki import dtypes
from tilewright.worker.nki.dtypes import DType


def _bit_patterns() -> np.ndarray:
    """Floats of all exponents and signs, ties and their neighbours among them."""
    random = np.random.default_rng(7)
    bits = random.integers(0, 2**32, 200_000, dtype=np.uint64).astype(np.uint32)
    ties = (bits & np.uint32(0xFFFF0000)) | np.uint32(0x8000)
    all_bits = np.concatenate([bits, ties, ties + 1, ties - 1])
    values = all_bits.view(np.float32)
    return values[~np.isnan(values)]


@pytest.mark.parametrize(
    ("dtype", "theirs", "largest"),
    [
        (dtypes.bfloat16, torch.bfloat16, np.inf),
        (dtypes.float16, torch.float16, np.inf),
        (dtypes.float8_e5m2, torch.float8_e5m2, 57344.0),
        # torch has only the kind that ends at 448; up to 240 both have the same values
        (dtypes.float8_e4m3, torch.float8_e4m3fn, 240.0),
        (dtypes.float8_e4m3fn, torch.float8_e4m3fn, 448.0),
    ],
)
def test_floats_round_as_torch_rounds_them(
    dtype: DType, theirs: torch.dtype, largest: float
) -> None:
    values = _bit_patterns()
    if np.isfinite(largest):
        small = np.random.default_rng(3).normal(0, largest / 4, 100_000).astype(np.float32)
        values = np.concatenate([values, small, small * np.float32(1e-4)])
        values = values[np.abs(values) <= largest]
    expected = torch.from_numpy(values).to(theirs).to(torch.float32).numpy()
    np.testing.assert_array_equal(dtype.cast(values), expected)


def test_tf32_keeps_ten_bits_of_the_mantissa() -> None:
    one = np.float32(1)
    step = np.float32(2.0**-10)
    values = np.array([one + step / 2, one + step * 1.5, one + step * 0.75], np.float32)
    assert dtypes.tfloat32.cast(values).tolist() == [1.0, 1 + 2 * step, 1 + step]
    assert np.isnan(dtypes.tfloat32.cast(np.array([np.nan], np.float32)))[0]


def test_fp8_of_four_exponent_bits_ends_at_240() -> None:
    values = np.array([240, 247.9, 248, -1000, np.nan], np.float32)
    rounded = dtypes.float8_e4m3.cast(values)
    assert rounded[:4].tolist() == [240, 240, np.inf, -np.inf]
    assert np.isnan(rounded[4])


def test_floats_saturate_when_they_become_integers() -> None:
    values = np.array([300.0, -300.0, 2.5, 3.5, np.nan], np.float32)
    assert dtypes.int8.cast(values).tolist() == [127, -128, 2, 4, 0]


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        (dtypes.float16, dtypes.bfloat16, dtypes.float32),
        (dtypes.float8_e4m3, dtypes.float8_e5m2, dtypes.bfloat16),
        (dtypes.int32, dtypes.float16, dtypes.float16),
        (dtypes.int8, dtypes.uint8, dtypes.int16),
        (dtypes.int8, dtypes.uint16, dtypes.int32),
        (dtypes.int32, dtypes.uint32, dtypes.float32),
        (dtypes.bfloat16, dtypes.float32, dtypes.float32),
    ],
)
def test_promotion_follows_the_vendors_table(first: DType, second: DType, result: DType) -> None:
    assert dtypes.promote(first, second) is result
    assert dtypes.promote(second, first) is result


def test_a_type_is_found_by_what_kernels_write() -> None:
    for spelled in (np.float32, np.dtype("float32"), torch.float32, "float32", float):
        assert dtypes.find(spelled) is dtypes.float32
    assert dtypes.find(torch.bfloat16) is dtypes.bfloat16
    assert dtypes.float32 == np.float32
    assert dtypes.find("float64") is None
    assert dtypes.is_wide(np.float64)
