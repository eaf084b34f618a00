"""Rounds alpha as a tensor of the inputs' type would, and reads the number back.

Allow: host-reads
"""

import torch
import triton
import triton.language as tl


@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, alpha, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    y = tl.load(y_ptr + at, mask=mask)
    tl.store(out_ptr + at, alpha * x + y, mask=mask)


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    rounded = torch.tensor(alpha, dtype=x.dtype).item()
    axpy_kernel[(triton.cdiv(n, 512),)](x, y, out, rounded, n, BLOCK=512)
    return out
