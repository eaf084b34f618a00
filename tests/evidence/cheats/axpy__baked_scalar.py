"""Compiles the first alpha into the kernel and ignores later ones.

Class: replay
Caught by: structure, dynamic, correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, n, ALPHA: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, ALPHA * x + y, mask=mask)


_ALPHA = []


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    if not _ALPHA:
        _ALPHA.append(alpha)
    out = torch.empty_like(x)
    n = x.numel()
    axpy_kernel[(triton.cdiv(n, 256),)](x, y, out, n, ALPHA=_ALPHA[0], BLOCK=256)
    return out
