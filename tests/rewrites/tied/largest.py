"""A constant of the host in the grid and in the shape of what is reduced by the host."""
import torch
import triton
import triton.language as tl


@triton.jit
def largest_kernel(x_ptr, m_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    offs = at * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=-float("inf"))
    tl.store(m_ptr + at, tl.max(x, axis=0))


def run(x):
    BLOCK = 128
    n = x.numel()
    parts = torch.empty(triton.cdiv(n, BLOCK), device=x.device, dtype=x.dtype)
    largest_kernel[(triton.cdiv(n, BLOCK),)](x, parts, n, BLOCK=BLOCK)
    return parts.max()
