# rewrite: move_mask
# at: tl.load(row, mask=inside, other=0.0)
# refuses: the mask is made outside of the access
import triton
import triton.language as tl


@triton.jit
def sum_kernel(a_ptr, out_ptr, K, BK: tl.constexpr):
    inner = tl.arange(0, BK)
    inside = inner < K
    row = a_ptr + tl.program_id(0) * K + inner
    total = tl.zeros((BK,), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        total += tl.load(row, mask=inside, other=0.0)
        row += BK
    tl.store(out_ptr + tl.program_id(0), tl.sum(total, 0))
