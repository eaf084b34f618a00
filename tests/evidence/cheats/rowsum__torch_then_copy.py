"""Lets torch sum, and a kernel copy the sums.

Class: bypass
Caught by: structure, dynamic
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rowsum_kernel(x_ptr, out_ptr, n_cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out_ptr + row, tl.load(x_ptr + row))


def rowsum(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, device=x.device, dtype=x.dtype)
    sums = x.sum(dim=-1)
    rowsum_kernel[(n_rows,)](sums, out, n_cols, 1, BLOCK=128)
    return out
