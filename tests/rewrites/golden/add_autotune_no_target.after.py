# rewrite: add_autotune
# at: add_kernel
# facts: x_ptr=*fp32 y_ptr=*fp32 z_ptr=*fp32 n=1000000
import torch
import triton
import triton.language as tl

BLOCK = 1024


# No target was chosen: these configurations suit cuda:90.
@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 256}, num_warps=4),
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=8),
        triton.Config({"BLOCK": 2048}, num_warps=8),
        triton.Config({"BLOCK": 4096}, num_warps=8),
    ],
    key=["n"],
)
@triton.jit
def add_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n)
    y = tl.load(y_ptr + cols, mask=cols < n)
    tl.store(z_ptr + cols, x + y, mask=cols < n)


def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = torch.empty_like(x)
    n = x.numel()
    add_kernel[lambda META: (triton.cdiv(n, META["BLOCK"]),)](x, y, z, n)
    return z
