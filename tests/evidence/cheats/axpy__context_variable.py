"""Keeps the last result in a context variable.

Class: replay
Caught by: structure, dynamic, correctness
"""

from contextvars import ContextVar

import torch
import triton
import triton.language as tl


@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, alpha, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, alpha * x + y, mask=mask)


_LAST = ContextVar("last", default=None)


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    last = _LAST.get()
    if last is not None and last.shape == x.shape:
        return last
    out = torch.empty_like(x)
    n = x.numel()
    axpy_kernel[(triton.cdiv(n, 256),)](x, y, out, alpha, n, BLOCK=256)
    _LAST.set(out)
    return out
