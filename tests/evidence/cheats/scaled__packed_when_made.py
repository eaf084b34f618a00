"""Copies its weight when it is made, and uses the copy whatever is loaded or learned later.

Class: replay
Caught by: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled_kernel(x_ptr, w_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + row * n_cols + cols, mask=mask)
        w = tl.load(w_ptr + cols, mask=mask)
        tl.store(out_ptr + row * n_cols + cols, tl.maximum(x * w, 0.0), mask=mask)


class Model(torch.nn.Module):
    def __init__(self, n_cols: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(n_cols))
        self.packed = self.weight.detach().clone()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        packed = self.packed.to(device=x.device, dtype=x.dtype)
        scaled_kernel[(x.shape[0],)](x, packed, out, x.shape[1], BLOCK=128)
        return out
