"""A helper works out where a program is."""
import torch
import triton
import triton.language as tl


@triton.jit
def _places(BLOCK: tl.constexpr):
    return tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)


@triton.jit
def cube_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = _places(BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * x * x, mask=offs < n)


def run(x):
    n = x.numel()
    y = torch.empty_like(x)
    cube_kernel[(triton.cdiv(n, 128),)](x, y, n, BLOCK=128)
    return y
