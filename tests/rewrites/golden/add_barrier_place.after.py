# rewrite: add_barrier
# at: tl.load(probs + row * V + cols, mask=cols < V, other=0.0)
import torch
import triton
import triton.language as tl


@triton.jit
def without_kernel(probs, draft, out, V, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    drop = tl.load(draft + row)
    cols = tl.arange(0, BLOCK)
    tl.store(probs + row * V + drop, 0.0)
    tl.debug_barrier()
    p = tl.load(probs + row * V + cols, mask=cols < V, other=0.0)
    tl.store(out + row, tl.sum(p, 0))
