"""Takes the weight out of its memory for the time of a call.

Class: contract
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


@triton.jit
def swapped_kernel(a_ptr, b_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(a_ptr + offs, mask=mask)
    b = tl.load(b_ptr + offs, mask=mask)
    tl.store(a_ptr + offs, b, mask=mask)
    tl.store(b_ptr + offs, a, mask=mask)


class Model(torch.nn.Module):
    def __init__(self, n_cols: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(n_cols))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.shape[1]
        spare = torch.zeros_like(self.weight)
        swapped_kernel[(triton.cdiv(n, 128),)](self.weight, spare, n, BLOCK=128)
        scaled_kernel[(x.shape[0],)](x, spare, out, n, BLOCK=128)
        swapped_kernel[(triton.cdiv(n, 128),)](self.weight, spare, n, BLOCK=128)
        return out
