# rewrite: state_warps
# at: rows_kernel[(rows,)]
# facts: n=8192
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + cols, mask=cols < n, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x, axis=0))


def run(x, y):
    rows, n = x.shape
    rows_kernel[(rows,)](x, y, n, BLOCK=8192, num_warps=8)
