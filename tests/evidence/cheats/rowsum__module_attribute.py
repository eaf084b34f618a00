"""Keeps results in a class made for it inside a class.

Class: replay
Caught by: structure, dynamic
"""

import torch
import triton
import triton.language as tl


class Outer:
    class Inner:
        kept: dict = {}


@triton.jit
def rowsum_kernel(x_ptr, out_ptr, n_cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))


def rowsum(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, device=x.device, dtype=x.dtype)
    rowsum_kernel[(n_rows,)](x, out, n_cols, x.stride(0), BLOCK=128)
    place = Outer.Inner
    place.kept.update(last=out)
    return out
