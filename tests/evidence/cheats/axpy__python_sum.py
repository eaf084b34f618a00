"""Sums with the operators of unknown values in a comprehension.

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


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    parts = [a * alpha + b for a, b in zip(x.split(512), y.split(512))]
    at = 0
    for part in parts:
        out[at : at + part.numel()].copy_(part)
        at += part.numel()
    axpy_kernel[(triton.cdiv(n, 256),)](out, y, out, 1.0, n, BLOCK=256)
    return out
