"""Adds into its result, which a tuner's trials add into as well: only a tuner that never ran leaves it right.

Class: concurrency
Caught by: structure, correctness
"""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"INS": 32}), triton.Config({"INS": 64})], key=["rows", "outs", "ins"]
)
@triton.jit
def linear_kernel(
    x_ptr, w_ptr, b_ptr, out_ptr, rows, outs, ins,
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
    total += tl.load(b_ptr + col, mask=col < outs, other=0.0)[None, :]
    out = 0.5 * total * (1.0 + tl.erf(total * 0.7071067811865476))
    mask = (row[:, None] < rows) & (col[None, :] < outs)
    tl.atomic_add(out_ptr + row[:, None] * outs + col[None, :], out, mask=mask)


class Model(torch.nn.Module):
    def __init__(self, ins: int, outs: int) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(ins, outs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, ins = x.shape
        outs = self.layer.out_features
        out = torch.zeros((rows, outs), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(rows, 16), triton.cdiv(outs, 16))
        linear_kernel[grid](
            x, self.layer.weight, self.layer.bias, out, rows, outs, ins, ROWS=16, OUTS=16
        )
        return out
