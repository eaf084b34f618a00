"""Powers of two instead of e: x is scaled by log2(e) first."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n_cols, stride_x, stride_out, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_x + cols, mask=cols < n_cols, other=float("-inf"))
    scaled = (x - tl.max(x, axis=0)) * 1.4426950408889634
    power = tl.exp2(scaled)
    tl.store(
        out_ptr + row * stride_out + cols, power / tl.sum(power, axis=0), mask=cols < n_cols
    )


def softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    softmax_kernel[(n_rows,)](x, out, n_cols, x.stride(0), out.stride(0), BLOCK=block)
    return out
