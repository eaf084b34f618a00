"""Sums as a product with a matrix of ones, sixteen rows a program, in full precision."""

import torch
import triton
import triton.language as tl


@triton.jit
def rowsum_kernel(
    x_ptr, out_ptr, n_rows, n_cols, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    ones = tl.full((BLOCK, 16), 1.0, dtype=tl.float32)
    acc = tl.zeros((ROWS, 16), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(
            x_ptr + rows[:, None] * stride + cols[None, :],
            mask=(rows[:, None] < n_rows) & (cols[None, :] < n_cols), other=0.0,
        )
        acc += tl.dot(x, ones, input_precision="ieee")
    tl.store(out_ptr + rows, tl.max(acc, axis=1), mask=rows < n_rows)


def rowsum(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, device=x.device, dtype=x.dtype)
    rowsum_kernel[(triton.cdiv(n_rows, 16),)](
        x, out, n_rows, n_cols, x.stride(0), ROWS=16, BLOCK=64
    )
    return out
