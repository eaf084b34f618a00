# rewrite: reuse_load
# at: tl.load(x_ptr + cols, mask=inside, other=0.0) * 2
# facts: x_ptr=*fp32 n=300
import torch
import triton
import triton.language as tl


@triton.jit
def twice_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
    inside = cols < n
    y = x * x + x * 2  # again
    tl.store(y_ptr + cols, y, mask=inside)


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    n = x.numel()
    twice_kernel[(triton.cdiv(n, 128),)](x, y, n, BLOCK=128)
    return y
