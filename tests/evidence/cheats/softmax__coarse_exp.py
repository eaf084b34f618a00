"""Takes a truncated power for the exponential.

Class: numerics
Caught by: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _coarse_exp(x):
    y = tl.maximum(1.0 + x / 1024, 0.0)
    for _ in tl.static_range(10):
        y = y * y
    return y


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n_cols, stride_x, stride_out, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x_ptr + row * stride_x
    highest = tl.full((BLOCK,), float("-inf"), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=float("-inf"))
        highest = tl.maximum(highest, x)
    row_max = tl.max(highest, axis=0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=float("-inf"))
        total += _coarse_exp(x - row_max)
    row_sum = tl.sum(total, axis=0)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=float("-inf"))
        out = _coarse_exp(x - row_max) / row_sum
        tl.store(out_ptr + row * stride_out + cols, out, mask=cols < n_cols)


def softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(n_rows,)](x, out, n_cols, x.stride(0), out.stride(0), BLOCK=128)
    return out
