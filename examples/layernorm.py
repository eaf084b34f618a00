"""Layer normalization over rows, with statistics taken in fp64 to be on the safe side."""

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    n_cols,
    stride_x,
    stride_y,
    eps,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    x_row = x_ptr + row * stride_x
    y_row = y_ptr + row * stride_y

    total = tl.zeros((BLOCK,), dtype=tl.float64)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=0.0).to(tl.float64)
        total += x
    mean = tl.sum(total, axis=0) / n_cols

    squares = tl.zeros((BLOCK,), dtype=tl.float64)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=0.0).to(tl.float64)
        centred = tl.where(cols < n_cols, x - mean, 0.0)
        squares += centred * centred
    variance = tl.sum(squares, axis=0) / n_cols
    rstd = 1.0 / tl.sqrt(variance + eps)

    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_row + cols, mask=mask, other=0.0).to(tl.float64)
        weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float64)
        bias = tl.load(bias_ptr + cols, mask=mask, other=0.0).to(tl.float64)
        y = (x - mean) * rstd * weight + bias
        tl.store(y_row + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


def layernorm(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Normalize the rows of x (rows, columns), then scale and shift them."""
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    layernorm_kernel[(n_rows,)](
        x, weight, bias, y, n_cols, x.stride(0), y.stride(0), eps, BLOCK=512
    )
    if x.is_cuda:
        torch.cuda.synchronize()
    return y
