# rewrite: add_autotune
# at: add_kernel
# facts: x_ptr=*fp32 y_ptr=*fp32 z_ptr=*fp32 n=1000000
import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def add_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n)
    y = tl.load(y_ptr + cols, mask=cols < n)
    tl.store(z_ptr + cols, x + y, mask=cols < n)


def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = torch.empty_like(x)
    n = x.numel()
    add_kernel[((n + BLOCK - 1) // BLOCK,)](x, y, z, n, BLOCK=BLOCK, num_warps=8)
    return z
