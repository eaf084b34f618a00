"""Multiplies by a method that is seldom used, and lets a kernel copy.

Class: bypass
Caught by: dynamic
"""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)


def _product(a, b):
    return a.inner(b.t())


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    c = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype)
    matmul_kernel[(triton.cdiv(c.numel(), 256),)](_product(a, b), c, c.numel(), BLOCK=256)
    return c
