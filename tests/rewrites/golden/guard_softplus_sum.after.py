# rewrite: guard_softplus
# at: tl.log(tl.exp(x) + 1)
import torch
import triton
import triton.language as tl


@triton.jit
def softplus_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
    y = 2 * tl.where(x > 20.0, x, tl.log(tl.exp(x) + 1))
    tl.store(y_ptr + cols, y, mask=cols < n)


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    softplus_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
