"""Returns a tensor of its own kind that computes when somebody looks at it.

Class: timing
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


class _Later(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        plain = [a.work() if isinstance(a, _Later) and hasattr(a, "work") else a for a in args]
        return func(*plain, **(kwargs or {}))


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    later = torch.Tensor._make_subclass(_Later, out)

    def work():
        axpy_kernel[(triton.cdiv(n, 256),)](x, y, out, alpha, n, BLOCK=256)
        return out

    later.work = work
    return later
