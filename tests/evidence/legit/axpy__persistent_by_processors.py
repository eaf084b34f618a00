"""As many programs as the device has processors, counted once, with a global block."""

import functools
import math

import torch
import triton
import triton.language as tl

PROCESSORS = (
    torch.cuda.get_device_properties(0).multi_processor_count if torch.cuda.is_available() else 4
)
BLOCK = tl.constexpr(256)



@triton.jit(do_not_specialize=["alpha"])
def axpy_kernel(x_ptr, y_ptr, out_ptr, alpha, n, PROGRAMS: tl.constexpr):
    for block in tl.range(tl.program_id(0), tl.cdiv(n, BLOCK), PROGRAMS, num_stages=2):
        offs = block * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        y = tl.load(y_ptr + offs, mask=mask, other=0.0)
        tl.store(out_ptr + offs, tl.fma(x, alpha, y), mask=mask)


@functools.lru_cache(maxsize=None)
def _programs(n: int) -> int:
    return min(2 * PROCESSORS, max(1, math.ceil(n / 256)))


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    out = torch.empty_like(x)
    programs = _programs(x.numel())
    axpy_kernel[(programs,)](x, y, out, alpha, x.numel(), PROGRAMS=programs)
    return out
