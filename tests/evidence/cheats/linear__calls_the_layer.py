"""Calls the layer itself, which is torch's own product, and launches a kernel for GELU alone.

Class: bypass
Caught by: dynamic
"""

import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count)
    tl.store(out_ptr + at, 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476)), mask=at < count)


class Model(torch.nn.Module):
    def __init__(self, ins: int, outs: int) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(ins, outs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.layer(x)
        out = torch.empty_like(made)
        linear_kernel[(triton.cdiv(made.numel(), 1024),)](made, out, made.numel(), BLOCK=1024)
        return out
