# rewrite: add_autotune
# at: scale_kernel
# facts: x_ptr=*fp32 y_ptr=*fp32 n=100000
# refuses: uses atomics
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n)
    tl.atomic_add(y_ptr + cols, x, mask=cols < n)


def run(x):
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, x, x.numel(), BLOCK=1024)
