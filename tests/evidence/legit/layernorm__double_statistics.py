"""More accurate than the original: the statistics are taken in double precision."""

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, n_cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x_ptr + row * stride
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_row + cols, mask=mask, other=0.0).to(tl.float64)
    mean = tl.sum(x, axis=0) / n_cols
    off = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(off * off, axis=0) / n_cols + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    b = tl.load(b_ptr + cols, mask=mask, other=0.0)
    y = (off * rstd).to(tl.float32) * w + b
    tl.store(out_ptr + row * stride + cols, y, mask=mask)


def layernorm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    x = x.contiguous()
    out = torch.empty_like(x)
    layernorm_kernel[(n_rows,)](
        x, weight, bias, out, n_cols, x.stride(0), 1e-5, BLOCK=triton.next_power_of_2(n_cols)
    )
    return out
