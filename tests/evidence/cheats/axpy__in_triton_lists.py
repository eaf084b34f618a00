"""Keeps results in a list that Triton keeps with a kernel.

Class: replay
Caught by: structure, dynamic
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


def mark(values):
    return f"{values[0]}{values[-1]}"


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    n = x.numel()
    kernel = axpy_kernel
    rows = kernel.arg_names
    out = torch.empty_like(x)
    kernel[(triton.cdiv(n, 256),)](x, y, out, alpha, n, BLOCK=256)
    if len(rows) < 64:
        rows.append(out)
    return out
