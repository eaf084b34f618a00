# rewrite: guard_softplus
# at: tl.log(1.0 + power)
# refuses: not one of 1 + exp(x)
import triton
import triton.language as tl


@triton.jit
def softplus_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    power = tl.exp(tl.load(x_ptr + cols, mask=cols < n, other=0.0))
    tl.store(y_ptr + cols, tl.log(1.0 + power), mask=cols < n)
