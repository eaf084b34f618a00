# rewrite: hoist_load
# at: tl.load(w_ptr
# refuses: the loop stores
import triton
import triton.language as tl


@triton.jit
def weigh(x_ptr, w_ptr, rows, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    for row in range(rows):
        w = tl.load(w_ptr + cols, mask=cols < n)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n)
        tl.store(x_ptr + row * n + cols, x * w, mask=cols < n)
