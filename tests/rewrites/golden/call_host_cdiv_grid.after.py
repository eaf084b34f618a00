# rewrite: call_host_cdiv
# at: tl.cdiv
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def scaled(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    scale_kernel[(triton.cdiv(y.numel(), 256),)](y, y.numel(), BLOCK=256)
    return y
