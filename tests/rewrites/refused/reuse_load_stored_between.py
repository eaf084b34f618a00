# rewrite: reuse_load
# at: tl.load(x_ptr + cols) + 1
# refuses: there is a store in between
import triton
import triton.language as tl


@triton.jit
def again(x_ptr, y_ptr, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols)
    tl.store(y_ptr + cols, x)
    y = tl.load(x_ptr + cols) + 1
    tl.store(x_ptr + cols, y)
