"""A kernel without a spec: what it is run on is drafted, or captured from this script."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n_cols, factor, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask)
    tl.store(y_ptr + row * n_cols + cols, x * factor, mask=mask)


def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    scale_kernel[(n_rows,)](x, y, n_cols, factor, BLOCK=128)
    torch.cuda.synchronize()
    return y


def halved(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    scale_kernel[(n_rows,)](x, y, n_cols, 0.5, BLOCK=128)
    torch.cuda.synchronize()
    return y


if __name__ == "__main__":
    print(scale(torch.ones(4, 100), 2.0).sum().item())
