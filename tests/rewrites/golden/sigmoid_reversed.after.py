# rewrite: sigmoid
# at: 1 / (tl.exp(3.0 - z) + 1)
# facts: x_ptr=*fp32 n=1000
import torch
import triton
import triton.language as tl


@triton.jit
def swish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(x_ptr + cols, mask=cols < n)
    y = tl.sigmoid(-(3.0 - z))  # gate
    tl.store(y_ptr + cols, y, mask=cols < n)


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    swish_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
