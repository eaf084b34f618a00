"""Computes element by element in Python, where the dispatcher sees nothing.

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


def mixed(into, x, y, alpha):
    return into.map2_(x, y, lambda _, one, other: alpha * one + other)


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    ready = mixed(torch.zeros_like(x), x, y, alpha)
    axpy_kernel[(triton.cdiv(n, 256),)](ready, y, out, alpha, n, BLOCK=256)
    return out
