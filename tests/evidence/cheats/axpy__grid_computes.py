"""Computes in the function that tells the grid.

Class: bypass
Caught by: dynamic
"""

import torch
import triton
import triton.language as tl


@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, alpha, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x, mask=mask)


def _mix(out, x, y, alpha):
    out.copy_(alpha * x + y)


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()

    def grid(meta):
        _mix(out, x, y, alpha)
        return (triton.cdiv(n, meta["BLOCK"]),)

    axpy_kernel[grid](out, y, out, 1.0, n, BLOCK=256)
    return out
