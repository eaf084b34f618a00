# rewrite: drop_synchronize
# at: x.sum().item()
# refuses: the host reads a value
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)


def total(x):
    fill[(1,)](x, BLOCK=64)
    return x.sum().item()
