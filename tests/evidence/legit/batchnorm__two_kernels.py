"""Statistics in one kernel, which updates the running ones, and the result in another."""

import torch
import triton
import triton.language as tl


@triton.jit
def statistics_kernel(
    x_ptr, stat_ptr, mean_ptr, var_ptr, rows, cols, eps, momentum, ROWS: tl.constexpr
):
    col = tl.program_id(0)
    row = tl.arange(0, ROWS)
    mask = row < rows
    x = tl.load(x_ptr + row * cols + col, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / rows
    centred = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centred * centred, axis=0) / rows
    tl.store(stat_ptr + col, mean)
    tl.store(stat_ptr + cols + col, 1.0 / tl.sqrt(var + eps))
    old_mean, old_var = tl.load(mean_ptr + col), tl.load(var_ptr + col)
    tl.store(mean_ptr + col, old_mean + momentum * (mean - old_mean))
    tl.store(var_ptr + col, old_var + momentum * (var * rows / (rows - 1) - old_var))


@triton.jit
def batchnorm_kernel(x_ptr, stat_ptr, w_ptr, b_ptr, out_ptr, count, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    col = at % cols
    x = tl.load(x_ptr + at, mask=mask)
    mean = tl.load(stat_ptr + col, mask=mask)
    scale = tl.load(stat_ptr + cols + col, mask=mask)
    w, b = tl.load(w_ptr + col, mask=mask), tl.load(b_ptr + col, mask=mask)
    tl.store(out_ptr + at, (x - mean) * scale * w + b, mask=mask)


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
        stat = torch.empty((2, cols), device=x.device, dtype=torch.float32)
        statistics_kernel[(cols,)](
            x, stat, self.running_mean, self.running_var, rows, cols, 1e-5, 0.1,
            ROWS=triton.next_power_of_2(rows),
        )  # fmt: skip
        batchnorm_kernel[(triton.cdiv(x.numel(), 256),)](
            x, stat, self.weight, self.bias, out, x.numel(), cols, BLOCK=256
        )
        return out
