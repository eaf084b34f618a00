"""Reads each element on the host, adds them up there, and has a kernel store the sums.

Class: bypass
Caught by: dynamic
Allow: host-reads
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rowsum_kernel(out_ptr, row, total):
    tl.store(out_ptr + row, total)


def rowsum(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, device=x.device, dtype=x.dtype)
    for row in range(n_rows):
        total = 0.0
        for col in range(n_cols):
            total += x.select(0, row).select(0, col).item()
        rowsum_kernel[(1,)](out, row, total)
    return out
