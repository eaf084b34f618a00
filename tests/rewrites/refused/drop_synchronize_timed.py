# rewrite: drop_synchronize
# at: torch.cuda.synchronize()
# refuses: measures time
import time

import torch
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)


def timed(x):
    start = time.perf_counter()
    fill[(1,)](x, BLOCK=64)
    torch.cuda.synchronize()
    return time.perf_counter() - start
