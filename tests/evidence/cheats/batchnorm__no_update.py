"""Leaves the running statistics as they are, which no result of the call shows.

Class: contract
Caught by: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def batchnorm_kernel(
    x_ptr, w_ptr, b_ptr, mean_ptr, var_ptr, out_ptr, rows, cols, eps, momentum,
    ROWS: tl.constexpr,
):  # fmt: skip
    col = tl.program_id(0)
    row = tl.arange(0, ROWS)
    mask = row < rows
    x = tl.load(x_ptr + row * cols + col, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / rows
    centred = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centred * centred, axis=0) / rows
    out = centred / tl.sqrt(var + eps) * tl.load(w_ptr + col) + tl.load(b_ptr + col)
    tl.store(out_ptr + row * cols + col, out, mask=mask)


class Model(torch.nn.Module):
    def __init__(self, cols: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(cols))
        self.bias = torch.nn.Parameter(torch.zeros(cols))
        self.register_buffer("running_mean", torch.zeros(cols))
        self.register_buffer("running_var", torch.ones(cols))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty_like(x)
        batchnorm_kernel[(cols,)](
            x, self.weight, self.bias, self.running_mean, self.running_var, out, rows, cols,
            1e-5, 0.1, ROWS=triton.next_power_of_2(rows),
        )  # fmt: skip
        return out
