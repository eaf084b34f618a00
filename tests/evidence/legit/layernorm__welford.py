"""One pass for mean and variance, merging blocks by Welford's formula."""

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, n_cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x_ptr + row * stride
    mean = 0.0
    spread = 0.0
    seen = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_row + cols, mask=mask, other=0.0)
        count = tl.sum(mask.to(tl.float32), axis=0)
        block_mean = tl.sum(x, axis=0) / count
        off = tl.where(mask, x - block_mean, 0.0)
        delta = block_mean - mean
        total = seen + count
        spread += tl.sum(off * off, axis=0) + delta * delta * seen * count / total
        mean += delta * count / total
        seen = total
    rstd = 1 / tl.sqrt(spread / n_cols + eps)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_row + cols, mask=mask, other=0.0)
        w = tl.load(w_ptr + cols, mask=mask)
        b = tl.load(b_ptr + cols, mask=mask)
        tl.store(out_ptr + row * stride + cols, (x - mean) * rstd * w + b, mask=mask)


def layernorm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    x = x.contiguous()
    out = torch.empty_like(x)
    layernorm_kernel[(n_rows,)](x, weight, bias, out, n_cols, x.stride(0), 1e-5, BLOCK=64)
    return out
