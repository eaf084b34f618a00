# rewrite: drop_synchronize
# at: torch.xpu.synchronize()
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n)
    tl.store(x_ptr + cols, x * 2, mask=cols < n)


def run(x: torch.Tensor) -> torch.Tensor:
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, x.numel(), BLOCK=64)
    # The device must be done before anyone looks.
    torch.xpu.synchronize()
    return x
