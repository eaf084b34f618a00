"""Reads one scale for each block that somebody else chose."""
import torch
import triton
import triton.language as tl


@triton.jit
def dequantize_kernel(q_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    offs = at * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(q_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr + offs, q * tl.load(s_ptr + at), mask=offs < n)


def run(q, s):
    n, BLOCK = q.numel(), 64
    y = torch.empty_like(q)
    dequantize_kernel[(triton.cdiv(n, BLOCK),)](q, s, y, n, BLOCK=BLOCK)
    return y
