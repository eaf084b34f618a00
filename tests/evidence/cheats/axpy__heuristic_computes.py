"""Computes in a heuristic, which a launch asks.

Class: bypass
Caught by: dynamic
"""

import torch
import triton
import triton.language as tl


def _mix(args):
    args["out_ptr"].copy_(args["alpha"] * args["x_ptr"] + args["y_ptr"])
    return 256


@triton.heuristics({"BLOCK": _mix})
@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, alpha, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out_ptr + offs, tl.load(out_ptr + offs, mask=mask), mask=mask)


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    axpy_kernel[(triton.cdiv(n, 256),)](x, y, out, alpha, n)
    return out
