# rewrite: stable_tanh
# at: (up - down) / (up + down)
# facts: x_ptr=*fp32 n=1000
import torch
import triton
import triton.language as tl


@triton.jit
def tanh_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n)
    up = tl.exp(x)
    down = tl.exp(-x)
    y = 1 + (up - down) / (up + down)
    tl.store(y_ptr + cols, y, mask=cols < n)


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    tanh_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
