"""A second kernel walks in twice the block of the first."""
import torch
import triton
import triton.language as tl


@triton.jit
def means_kernel(x_ptr, m_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    offs = at * BLOCK + tl.arange(0, BLOCK)
    tl.store(m_ptr + at, tl.sum(tl.load(x_ptr + offs, mask=offs < n, other=0.0), axis=0) / BLOCK)


@triton.jit
def shift_kernel(x_ptr, m_ptr, y_ptr, n, HALF: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = tl.load(m_ptr + offs // HALF, mask=offs < n, other=0.0)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) - m, mask=offs < n)


def run(x):
    n, SIZE = x.numel(), 64
    m = torch.empty(triton.cdiv(n, SIZE), device=x.device, dtype=x.dtype)
    y = torch.empty_like(x)
    means_kernel[(triton.cdiv(n, SIZE),)](x, m, n, BLOCK=SIZE)
    shift_kernel[(triton.cdiv(n, SIZE * 2),)](x, m, y, n, HALF=SIZE, BLOCK=SIZE * 2)
    return y
