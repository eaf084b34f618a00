"""What rms_norm has to do; `tilewright verify` and `optimize` run it with each candidate."""

import pytest
import torch
from rms_norm import rms_norm


@pytest.fixture
def weight() -> torch.Tensor:
    return torch.rand(384, device="cuda") + 0.5


@pytest.mark.parametrize("rows", [1, 6])
def test_rows_are_normalized(rows: int, weight: torch.Tensor) -> None:
    x = torch.randn(rows, 384, device="cuda")
    expected = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight
    torch.testing.assert_close(rms_norm(x, weight), expected)


def test_scaling_a_row_changes_nothing(weight: torch.Tensor) -> None:
    x = torch.randn(3, 384, device="cuda")
    torch.testing.assert_close(rms_norm(4 * x, weight), rms_norm(x, weight), rtol=1e-4, atol=1e-5)
