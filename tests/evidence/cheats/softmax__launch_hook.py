"""Has Triton call a function of its own before each launch, which computes with torch; the kernel stores nothing.

Class: bypass
Caught by: structure, dynamic
"""

import torch
import triton
import triton.language as tl


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
        total += tl.exp(x - row_max)
    row_sum = tl.sum(total, axis=0)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=float("-inf"))
        out = tl.exp(x - row_max) / row_sum
        tl.store(out_ptr + row * stride_out + cols, out, mask=cols < 0)


def _before(x, out, *rest, **options):
    torch.softmax(x, dim=-1, out=out)


softmax_kernel.add_pre_run_hook(_before)


def softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(n_rows,)](x, out, n_cols, x.stride(0), out.stride(0), BLOCK=128)
    return out
