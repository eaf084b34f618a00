# rewrite: hoist_load
# at: tl.load(w_ptr
# refuses: row changes from one iteration
import triton
import triton.language as tl


@triton.jit
def weigh(x_ptr, w_ptr, rows, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(rows):
        w = tl.load(w_ptr + row)
        total += w * tl.load(x_ptr + row * n + cols, mask=cols < n)
    tl.store(x_ptr + cols, total)
