# rewrite: add_barrier
# at: tl.load(part + tl.arange(0, MOST))
# refuses: none waits for another
import triton
import triton.language as tl


@triton.jit
def total(x, part, out, n, BLOCK: tl.constexpr, MOST: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(part + pid, tl.sum(tl.load(x + at, mask=at < n, other=0.0), 0))
    sums = tl.load(part + tl.arange(0, MOST))
    tl.store(out + at, tl.sum(sums, 0) / n, mask=at < n)
