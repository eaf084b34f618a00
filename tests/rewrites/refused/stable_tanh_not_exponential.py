# rewrite: stable_tanh
# at: (e - 1) / (e + 1)
# refuses: not shown to be a tanh
import triton
import triton.language as tl


@triton.jit
def tanh(x_ptr, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols)
    e = tl.exp(2 * x)
    e = e + 1
    y = (e - 1) / (e + 1)
    tl.store(x_ptr + cols, x + y)
