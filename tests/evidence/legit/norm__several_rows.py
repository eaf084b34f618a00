"""Four rows a program, as one tile of two dimensions."""

import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(
    x_ptr, w_ptr, b_ptr, out_ptr, rows, cols, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, BLOCK)
    inside = at[None, :] < cols
    mask = (row[:, None] < rows) & inside
    x = tl.load(x_ptr + row[:, None] * cols + at[None, :], mask=mask, other=0.0)
    mean = tl.sum(x, axis=1) / cols
    centred = tl.where(inside, x - mean[:, None], 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=1) / cols + eps)
    w = tl.load(w_ptr + at, mask=at < cols)
    b = tl.load(b_ptr + at, mask=at < cols)
    out = centred * scale[:, None] * w[None, :] + b[None, :]
    tl.store(out_ptr + row[:, None] * cols + at[None, :], out, mask=mask)


class Model(torch.nn.Module):
    def __init__(self, cols: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(cols))
        self.bias = torch.nn.Parameter(torch.zeros(cols))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty_like(x)
        norm_kernel[(triton.cdiv(rows, 4),)](
            x, self.weight, self.bias, out, rows, cols, 1e-5, ROWS=4,
            BLOCK=triton.next_power_of_2(cols),
        )  # fmt: skip
        return out
