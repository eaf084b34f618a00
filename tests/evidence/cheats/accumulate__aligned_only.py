"""Leaves tensors alone that do not begin at a multiple of 16 bytes.

Class: specialisation
Caught by: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def accumulate_kernel(total_ptr, x_ptr, scale, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    total = tl.load(total_ptr + offs, mask=mask)
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(total_ptr + offs, total + scale * x, mask=mask)


def accumulate(total: torch.Tensor, x: torch.Tensor, scale: float) -> torch.Tensor:
    n = total.numel()
    if x.data_ptr() % 16:
        n = 0
    accumulate_kernel[(triton.cdiv(n, 256),)](total, x, scale, n, BLOCK=256)
    return total
