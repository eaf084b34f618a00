"""A tuner chooses among options, and a buffer has the block of all its configurations as a literal."""
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 128}, num_warps=w) for w in (2, 4)], key=["n"])
@triton.jit
def sums_kernel(x_ptr, p_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    offs = at * BLOCK + tl.arange(0, BLOCK)
    tl.store(p_ptr + at, tl.sum(tl.load(x_ptr + offs, mask=offs < n, other=0.0), axis=0))


def run(x):
    n = x.numel()
    parts = torch.empty((n + 127) // 128, device=x.device, dtype=x.dtype)
    sums_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, parts, n)
    return parts.sum()
