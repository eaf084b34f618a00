# rewrite: state_warps
# at: fill[
# target: cuda:90
# refuses: 4 warps, the default
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)


def run(x):
    fill[(1,)](x, BLOCK=64)
