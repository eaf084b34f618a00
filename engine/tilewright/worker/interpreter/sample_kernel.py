"""A kernel that uses what most kernels use; imported where Triton's interpreter is on."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_SIZE = 16


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _sample(x, out, n, SIZE: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, N803
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    row = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    row = tl.exp(row - tl.max(row, axis=0)) + tl.zeros((SIZE,), tl.float32)
    row = tl.sigmoid(row) / tl.sum(row, axis=0)
    tl.store(out + at, row, mask=at < n)


def run() -> None:
    """Launch it."""
    count = 2 * _SIZE
    x = torch.zeros(count)
    _sample[(triton.cdiv(count, _SIZE),)](x, torch.empty_like(x), count, SIZE=_SIZE)
