# rewrite: drop_dot_upcasts
# at: tl.dot(a.to(tl.float32), b)
# facts: a_ptr=*fp16 b_ptr=*fp16
# refuses: used outside the dot
import triton
import triton.language as tl


@triton.jit
def square(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n, BLOCK):
        a = tl.load(a_ptr + i[:, None] * n + (k + i)[None, :])
        b = tl.load(b_ptr + (k + i)[:, None] * n + i[None, :]).to(tl.float32)
        acc += tl.dot(a.to(tl.float32), b)
    tl.store(c_ptr + i[:, None] * BLOCK + i[None, :], acc)
    tl.store(c_ptr, b)
