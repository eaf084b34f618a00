"""Captures its first launch and replays the graph, whatever memory comes.

Class: replay
Caught by: structure, dynamic
Needs: gpu
"""

import torch
import triton
import triton.language as tl


@triton.jit
def accumulate_kernel(total_ptr, x_ptr, scale, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    total = tl.load(total_ptr + offs, mask=mask)
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(total_ptr + offs, total + scale * x, mask=mask)


_GRAPHS = {}


def accumulate(total: torch.Tensor, x: torch.Tensor, scale: float) -> torch.Tensor:
    n = total.numel()
    if n not in _GRAPHS:
        accumulate_kernel[(triton.cdiv(n, 256),)](torch.empty_like(x), x, scale, n, BLOCK=256)
        torch.cuda.synchronize()
        _GRAPHS[n] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(_GRAPHS[n]):
            accumulate_kernel[(triton.cdiv(n, 256),)](total, x, scale, n, BLOCK=256)
    _GRAPHS[n].replay()
    return total
