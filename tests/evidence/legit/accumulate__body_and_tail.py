"""Whole blocks without masks in one launch, the rest of them in a second one; still in place."""

import torch
import triton
import triton.language as tl


@triton.jit
def accumulate_kernel(
    total_ptr, x_ptr, scale, first, n, BLOCK: tl.constexpr, IS_WHOLE: tl.constexpr
):
    offs = first + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if IS_WHOLE:
        tl.store(total_ptr + offs, tl.load(total_ptr + offs) + scale * tl.load(x_ptr + offs))
    else:
        mask = offs < n
        total = tl.load(total_ptr + offs, mask=mask)
        x = tl.load(x_ptr + offs, mask=mask)
        tl.store(total_ptr + offs, total + scale * x, mask=mask)


def accumulate(total: torch.Tensor, x: torch.Tensor, scale: float) -> torch.Tensor:
    n = total.numel()
    whole = n // 256
    if whole:
        accumulate_kernel[(whole,)](total, x, scale, 0, n, BLOCK=256, IS_WHOLE=True)
    if n % 256:
        accumulate_kernel[(1,)](total, x, scale, whole * 256, n, BLOCK=256, IS_WHOLE=False)
    return total
