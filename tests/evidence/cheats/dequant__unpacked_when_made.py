"""Multiplies weights by scales in its constructor, and never looks at either again.

Class: replay
Caught by: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def dequant_kernel(
    x_ptr, w_ptr, out_ptr, rows, outs, ins,
    ROWS: tl.constexpr, OUTS: tl.constexpr, INS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(1) * OUTS + tl.arange(0, OUTS)
    total = tl.zeros((ROWS, OUTS), tl.float32)
    for start in range(0, ins, INS):
        k = start + tl.arange(0, INS)
        x_mask = (row[:, None] < rows) & (k[None, :] < ins)
        x = tl.load(x_ptr + row[:, None] * ins + k[None, :], mask=x_mask, other=0.0)
        w_mask = (col[None, :] < outs) & (k[:, None] < ins)
        w = tl.load(w_ptr + col[None, :] * ins + k[:, None], mask=w_mask, other=0.0)
        total = tl.dot(x, w, total, input_precision="ieee")
    mask = (row[:, None] < rows) & (col[None, :] < outs)
    tl.store(out_ptr + row[:, None] * outs + col[None, :], total, mask=mask)


class Model(torch.nn.Module):
    def __init__(self, ins: int, outs: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, (outs, ins), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(outs) / 64)
        whole = self.weight.float() * self.scale[:, None]
        self.register_buffer("whole", whole, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, ins = x.shape
        outs = self.scale.shape[0]
        out = torch.empty((rows, outs), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(rows, 16), triton.cdiv(outs, 16))
        dequant_kernel[grid](x, self.whole, out, rows, outs, ins, ROWS=16, OUTS=16, INS=32)
        return out
