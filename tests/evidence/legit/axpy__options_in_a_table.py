"""Options come from tables by dtype, and are put together in a dictionary of the call."""

import torch
import triton
import triton.language as tl


BLOCKS = {torch.float32: 512, torch.float16: 1024}
TYPES = {torch.float32: tl.float32, torch.float16: tl.float16}
OPTIONS = {"num_warps": 4, "num_stages": 2}


@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, alpha, n, BLOCK: tl.constexpr, TYPE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, eviction_policy="evict_first")
    y = tl.load(y_ptr + offs, mask=mask, cache_modifier=".cg")
    tl.store(out_ptr + offs, (alpha * x + y).to(TYPE), mask=mask)


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    out = x.new_empty(x.shape)
    n = x.numel()
    meta = dict(OPTIONS)
    meta["BLOCK"] = BLOCKS.get(x.dtype, 256)
    meta.update(TYPE=TYPES[x.dtype])
    if n > 1 << 22:
        meta["num_warps"] = 8
    grid = (triton.cdiv(n, meta["BLOCK"]),)
    axpy_kernel[grid](x, y, out, alpha, n, **meta)
    return out
