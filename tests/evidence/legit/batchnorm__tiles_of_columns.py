"""Eight columns a program, so that rows are read in pieces that lie together."""

import torch
import triton
import triton.language as tl


@triton.jit
def batchnorm_kernel(
    x_ptr, w_ptr, b_ptr, mean_ptr, var_ptr, out_ptr, rows, cols, eps, momentum,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    row = tl.arange(0, ROWS)
    inside = col < cols
    mask = (row[:, None] < rows) & inside[None, :]
    where = row[:, None] * cols + col[None, :]
    x = tl.load(x_ptr + where, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / rows
    centred = tl.where(mask, x - mean[None, :], 0.0)
    var = tl.sum(centred * centred, axis=0) / rows
    w = tl.load(w_ptr + col, mask=inside, other=0.0) / tl.sqrt(var + eps)
    b = tl.load(b_ptr + col, mask=inside, other=0.0)
    tl.store(out_ptr + where, centred * w[None, :] + b[None, :], mask=mask)
    old_mean = tl.load(mean_ptr + col, mask=inside)
    old_var = tl.load(var_ptr + col, mask=inside)
    tl.store(mean_ptr + col, old_mean + momentum * (mean - old_mean), mask=inside)
    var = var * rows / (rows - 1)
    tl.store(var_ptr + col, old_var + momentum * (var - old_var), mask=inside)


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
        batchnorm_kernel[(triton.cdiv(cols, 8),)](
            x, self.weight, self.bias, self.running_mean, self.running_var, out, rows, cols,
            1e-5, 0.1, ROWS=triton.next_power_of_2(rows), COLS=8,
        )  # fmt: skip
        return out
