"""Lets several programs add into one sum without atomics.

Class: concurrency
Caught by: structure, correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rowsum_kernel(x_ptr, out_ptr, n_cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0), axis=0)
    tl.store(out_ptr + row, tl.load(out_ptr + row) + part)


def rowsum(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.zeros(n_rows, device=x.device, dtype=x.dtype)
    rowsum_kernel[(n_rows, triton.cdiv(n_cols, 128))](x, out, n_cols, x.stride(0), BLOCK=128)
    return out
