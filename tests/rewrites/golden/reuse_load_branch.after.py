# rewrite: reuse_load
# at: tl.load(x_ptr + cols, mask=cols < n, other=0.0).to(tl.float32), mask
# facts: x_ptr=*fp32 n=300
import torch
import triton
import triton.language as tl


@triton.jit
def keep_positive(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n, other=0.0).to(tl.float32)
    if tl.max(x) > 0:
        tl.store(
            y_ptr + cols,
            x, mask=cols < n,
        )  # fmt: skip


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x)
    keep_positive[(1,)](x, y, x.numel(), BLOCK=512)
    return y
