"""Computes in a hook that torch calls before forward, and launches a kernel that copies.

Class: bypass
Caught by: structure, dynamic
"""

import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < count), mask=at < count)


def before(model: torch.nn.Module, given: tuple) -> tuple:
    return (torch.nn.functional.gelu(model.layer(given[0])),)


class Model(torch.nn.Module):
    def __init__(self, ins: int, outs: int) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(ins, outs)
        self.register_forward_pre_hook(before)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        linear_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out
