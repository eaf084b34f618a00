"""The block is the kernel's default; the grid has it as a literal."""
import torch
import triton
import triton.language as tl


@triton.jit
def square_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr = 128):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * x, mask=offs < n)


def run(x):
    n = x.numel()
    y = torch.empty_like(x)
    square_kernel[((n + 128 - 1) // 128,)](x, y, n)
    return y
