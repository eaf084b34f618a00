"""Each tile of 64 is centred by its own mean."""
import torch
import triton
import triton.language as tl


@triton.jit
def centre_kernel(x_ptr, y_ptr, n, TILE: tl.constexpr):
    offs = tl.program_id(0) * TILE + tl.arange(0, TILE)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr + offs, x - tl.sum(x, axis=0) / TILE, mask=offs < n)


def run(x):
    n = x.numel()
    y = torch.empty_like(x)
    centre_kernel[(triton.cdiv(n, 64),)](x, y, n, TILE=64)
    return y
