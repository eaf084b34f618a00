# rewrite: constexpr_stride
# at: stride,
# refuses: not known to be 1
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    tl.store(y_ptr + cols, tl.load(x_ptr + cols * stride, mask=cols < n), mask=cols < n)


def run(x, y):
    copy[(1,)](x, y, x.stride(1), x.shape[1], BLOCK=64)
