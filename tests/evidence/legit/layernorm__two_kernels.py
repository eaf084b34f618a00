"""Mean and reciprocal deviation in one kernel, the result from tiles of many rows in another."""

import torch
import triton
import triton.language as tl


@triton.jit
def statistics_kernel(x_ptr, mean_ptr, rstd_ptr, n_cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / n_cols
    off = tl.where(mask, x - mean, 0.0)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, 1 / tl.sqrt(tl.sum(off * off, axis=0) / n_cols + eps))


@triton.jit
def result_kernel(
    x_ptr, mean_ptr, rstd_ptr, w_ptr, b_ptr, out_ptr, n_rows, n_cols, stride,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    mean = tl.load(mean_ptr + rows, mask=rows < n_rows, other=0.0)
    rstd = tl.load(rstd_ptr + rows, mask=rows < n_rows, other=0.0)
    w = tl.load(w_ptr + cols, mask=cols < n_cols, other=0.0)
    b = tl.load(b_ptr + cols, mask=cols < n_cols, other=0.0)
    at = rows[:, None] * stride + cols[None, :]
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    y = (x - mean[:, None]) * rstd[:, None] * w[None, :] + b[None, :]
    tl.store(out_ptr + at, y, mask=mask)


def layernorm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    x = x.contiguous()
    out = torch.empty_like(x)
    mean = torch.empty(n_rows, device=x.device, dtype=torch.float32)
    rstd = torch.empty_like(mean)
    block = triton.next_power_of_2(n_cols)
    statistics_kernel[(n_rows,)](x, mean, rstd, n_cols, x.stride(0), 1e-5, BLOCK=block)
    result_kernel[(triton.cdiv(n_rows, 4), triton.cdiv(n_cols, 128))](
        x, mean, rstd, weight, bias, out, n_rows, n_cols, x.stride(0), ROWS=4, BLOCK=128
    )
    return out
