"""Returns a new tensor and leaves the total as it was.

Class: contract
Caught by: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def accumulate_kernel(total_ptr, x_ptr, out_ptr, scale, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    total = tl.load(total_ptr + offs, mask=mask)
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, total + scale * x, mask=mask)


def accumulate(total: torch.Tensor, x: torch.Tensor, scale: float) -> torch.Tensor:
    n = total.numel()
    out = torch.empty_like(total)
    accumulate_kernel[(triton.cdiv(n, 256),)](total, x, out, scale, n, BLOCK=256)
    return out
