"""The row stays in registers; `tl.where` takes the place of masks in the arithmetic."""

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, n_cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    safe = tl.where(inside, cols, 0)
    x = tl.load(x_ptr + row * stride + safe)
    mean = tl.sum(tl.where(inside, x, 0.0), axis=0) / n_cols
    off = tl.where(inside, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(off * off, axis=0) / n_cols + eps)
    y = off * rstd * tl.load(w_ptr + safe) + tl.load(b_ptr + safe)
    tl.store(out_ptr + row * stride + cols, y, mask=inside)


def layernorm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    x = x.contiguous()
    out = torch.empty_like(x)
    layernorm_kernel[(n_rows,)](
        x, weight, bias, out, n_cols, x.stride(0), 1e-5, BLOCK=triton.next_power_of_2(n_cols)
    )
    return out
