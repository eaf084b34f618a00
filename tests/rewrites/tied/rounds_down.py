"""The grid rounds down, and the host asks that the block divides."""
import torch
import triton
import triton.language as tl


@triton.jit
def negate_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, -tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)


def run(x):
    n = x.numel()
    BLOCK = 1024
    assert n % BLOCK == 0
    y = torch.empty_like(x)
    negate_kernel[(n // BLOCK,)](x, y, n, BLOCK=BLOCK)
    return y
