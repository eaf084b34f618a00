"""A few programs share the rows, each with a stride of the number of programs."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(
    x_ptr, out_ptr, n_rows, n_cols, stride_x, stride_out, BLOCK: tl.constexpr
):
    for row in range(tl.program_id(0), n_rows, tl.num_programs(0)):
        cols = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride_x + cols, mask=cols < n_cols, other=float("-inf"))
        power = tl.exp(x - tl.max(x, axis=0))
        out = power * (1.0 / tl.sum(power, axis=0))
        tl.store(out_ptr + row * stride_out + cols, out, mask=cols < n_cols)


def softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(min(n_rows, 3),)](
        x, out, n_rows, n_cols, x.stride(0), out.stride(0),
        BLOCK=triton.next_power_of_2(n_cols),
    )
    return out
