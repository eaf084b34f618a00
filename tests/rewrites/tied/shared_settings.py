"""Two launches take their constants from one dict."""
import torch
import triton
import triton.language as tl


@triton.jit
def add_one_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)


@triton.jit
def times_two_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)


def run(x):
    n = x.numel()
    settings = {"BLOCK": 128}
    y = x.clone()
    add_one_kernel[(triton.cdiv(n, settings["BLOCK"]),)](y, n, **settings)
    times_two_kernel[(triton.cdiv(n, settings["BLOCK"]),)](y, n, **settings)
    return y
