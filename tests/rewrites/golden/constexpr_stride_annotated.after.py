# rewrite: constexpr_stride
# at: sy: tl.int64
import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["sy"])
def copy_kernel(
    x_ptr,
    y_ptr,
    sx,  # any
    sy: tl.constexpr,  # always one
    n,
    BLOCK: tl.constexpr,
):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols * sx, mask=cols < n)
    tl.store(y_ptr + cols * sy, x, mask=cols < n)


def run(x: torch.Tensor) -> torch.Tensor:
    n = x.numel()
    y = torch.empty(n, device=x.device)
    copy_kernel[(triton.cdiv(n, 64),)](x, y, x.stride(-1), y.stride(-1), n, BLOCK=64)
    return y
