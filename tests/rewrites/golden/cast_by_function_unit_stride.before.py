# rewrite: cast_by_function
# at: stride_row.to
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, y_ptr, stride_row, stride_col, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    row = tl.program_id(0) * stride_row.to(tl.int64)
    at = row + cols * stride_col
    x = tl.load(x_ptr + at, mask=cols < n, other=0.0)
    tl.store(y_ptr + tl.program_id(0) * stride_row.to(dtype=tl.int64) + cols, 2 * x, mask=cols < n)


def double(x: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    y = torch.empty(x.numel(), device=x.device)
    double_kernel[(x.numel(),)](x, y, 1, 1, 1, BLOCK=1)
    return y
