"""The grid is rounded up, and programs without a row return at once."""

import torch
import triton
import triton.language as tl


@triton.jit
def rowsum_kernel(x_ptr, out_ptr, n_rows, n_cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0) * 4 + tl.program_id(1)
    if row >= n_rows:
        return
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0), axis=0)
    tl.store(out_ptr + row, total)


def rowsum(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(n_rows, 4), 4)
    rowsum_kernel[grid](x, out, n_rows, n_cols, x.stride(0), BLOCK=128)
    return out
