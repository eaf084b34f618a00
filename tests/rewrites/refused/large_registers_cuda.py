# rewrite: large_registers
# at: fill[
# target: cuda:90
# refuses: the target is another
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)


def run(x):
    fill[(1,)](x, BLOCK=64)
