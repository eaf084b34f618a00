"""Random numbers by program and lane: which element gets which depends on the block."""
import torch
import triton
import triton.language as tl


@triton.jit
def noise_kernel(x_ptr, y_ptr, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    offs = at * BLOCK + lanes
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x + tl.rand(seed + at, lanes), mask=offs < n)


def run(x):
    n = x.numel()
    y = torch.empty_like(x)
    noise_kernel[(triton.cdiv(n, 128),)](x, y, n, 7, BLOCK=128)
    return y
