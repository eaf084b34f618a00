# rewrite: dot_accumulator
# at: acc += tl.dot(a, b, out_dtype=tl.float16)
# refuses: out_dtype
import triton
import triton.language as tl


@triton.jit
def square(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n, BLOCK):
        a = tl.load(a_ptr + i[:, None] * n + (k + i)[None, :])
        b = tl.load(b_ptr + (k + i)[:, None] * n + i[None, :])
        acc += tl.dot(a, b, out_dtype=tl.float16)
    tl.store(c_ptr + i[:, None] * BLOCK + i[None, :], acc)
