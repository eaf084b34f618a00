# rewrite: narrow_float64
# at: tl.float64
# refuses: no launch was captured
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n, other=0.0).to(tl.float64)
    tl.store(y_ptr, tl.sum(x, axis=0))
