"""The vector is taken as a tile of two dimensions; still in place."""

import torch
import triton
import triton.language as tl


@triton.jit
def accumulate_kernel(total_ptr, x_ptr, scale, n, ROWS: tl.constexpr, COLS: tl.constexpr):
    first = tl.program_id(0) * ROWS * COLS
    offs = first + tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    mask = offs < n
    total = tl.load(total_ptr + offs, mask=mask)
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(total_ptr + offs, total + scale * x, mask=mask)


def accumulate(total: torch.Tensor, x: torch.Tensor, scale: float) -> torch.Tensor:
    n = total.numel()
    accumulate_kernel[(triton.cdiv(n, 512),)](total, x, scale, n, ROWS=8, COLS=64, num_warps=2)
    return total
