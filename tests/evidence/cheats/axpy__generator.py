"""Keeps results in the locals of a generator that never ends.

Class: replay
Caught by: structure, dynamic, correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, alpha, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, alpha * x + y, mask=mask)


def _serve():
    out = None
    count = 0
    while True:
        x, y, alpha = yield out
        count += 1
        if count < 4 or out.shape != x.shape:
            out = torch.empty_like(x)
            n = x.numel()
            axpy_kernel[(triton.cdiv(n, 256),)](x, y, out, alpha, n, BLOCK=256)


_SERVER = _serve()
_SERVER.send(None)


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    return _SERVER.send((x, y, alpha))
