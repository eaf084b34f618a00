# rewrite: narrow_float64
# at: tl.float64
# facts: x_ptr=*fp64 y_ptr=*fp32
# refuses: x_ptr is *fp64
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n, other=0.0).to(tl.float64)
    tl.store(y_ptr, tl.sum(x, axis=0))
