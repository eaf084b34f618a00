"""Parts of sums go to memory that is kept from call to call, and allocated anew where it does not fit.

Allow: workspaces
"""

import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(
    x_ptr, w_ptr, part_ptr, rows, outs, ins, per_part,
    ROWS: tl.constexpr, OUTS: tl.constexpr, INS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(1) * OUTS + tl.arange(0, OUTS)
    part = tl.program_id(2)
    total = tl.zeros((ROWS, OUTS), tl.float32)
    for start in range(part * per_part, tl.minimum((part + 1) * per_part, ins), INS):
        k = start + tl.arange(0, INS)
        inside = k < tl.minimum((part + 1) * per_part, ins)
        x_mask = (row[:, None] < rows) & inside[None, :]
        x = tl.load(x_ptr + row[:, None] * ins + k[None, :], mask=x_mask, other=0.0)
        w_mask = (col[None, :] < outs) & inside[:, None]
        w = tl.load(w_ptr + col[None, :] * ins + k[:, None], mask=w_mask, other=0.0)
        total = tl.dot(x, w, total, input_precision="ieee")
    mask = (row[:, None] < rows) & (col[None, :] < outs)
    where = part_ptr + (part * rows + row[:, None]) * outs + col[None, :]
    tl.store(where, total, mask=mask)


@triton.jit
def finish_kernel(part_ptr, b_ptr, out_ptr, rows, outs, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < rows * outs
    total = tl.load(b_ptr + at % outs, mask=mask, other=0.0)
    for part in range(PARTS):
        total += tl.load(part_ptr + part * rows * outs + at, mask=mask, other=0.0)
    out = 0.5 * total * (1.0 + tl.erf(total * 0.7071067811865476))
    tl.store(out_ptr + at, out, mask=mask)


class Model(torch.nn.Module):
    def __init__(self, ins: int, outs: int) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(ins, outs)
        self.parts = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, ins = x.shape
        outs = self.layer.out_features
        if self.parts is None or self.parts.shape != (2, rows, outs):
            self.parts = torch.empty((2, rows, outs), device=x.device, dtype=torch.float32)
        parts = self.parts
        out = torch.empty((rows, outs), device=x.device, dtype=x.dtype)
        linear_kernel[(triton.cdiv(rows, 16), triton.cdiv(outs, 16), 2)](
            x, self.layer.weight, parts, rows, outs, ins, triton.cdiv(ins, 2), ROWS=16, OUTS=16, INS=32
        )
        finish_kernel[(triton.cdiv(rows * outs, 256),)](
            parts, self.layer.bias, out, rows, outs, PARTS=2, BLOCK=256
        )
        return out
