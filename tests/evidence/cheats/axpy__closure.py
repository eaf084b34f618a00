"""Keeps results in a variable of an enclosing function.

Class: replay
Caught by: structure, dynamic, correctness
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
    tl.store(out_ptr + offs, alpha * x + y, mask=mask)


def _made():
    kept = []

    def run(x, y, alpha):
        if len(kept) > 2 and kept[-1].shape == x.shape:
            return kept[-1]
        out = torch.empty_like(x)
        n = x.numel()
        axpy_kernel[(triton.cdiv(n, 256),)](x, y, out, alpha, n, BLOCK=256)
        kept.append(out)
        return out

    return run


_run = _made()


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    return _run(x, y, alpha)
