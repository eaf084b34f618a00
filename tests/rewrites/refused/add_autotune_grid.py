# rewrite: add_autotune
# at: scale_kernel
# facts: x_ptr=*fp32 y_ptr=*fp32 n=100000
# refuses: the grid does not show
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n)
    tl.store(y_ptr + cols, x * 2, mask=cols < n)


def run(x, y, programs):
    scale_kernel[(programs,)](x, y, x.numel(), BLOCK=1024)
