# rewrite: drop_dot_upcasts
# at: tl.dot(a, b32)
# facts: a_ptr=*fp16 b_ptr=*fp16 n=256
from triton import jit
from triton import language as tl


@jit
def square(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n, BLOCK):
        a = tl.load(a_ptr + i[:, None] * n + (k + i)[None, :])
        b = tl.load(b_ptr + (k + i)[:, None] * n + i[None, :])
        a = a.to(tl.float32)  # rebinding cast
        b32 = b.to(tl.float32)
        acc += tl.dot(a, b32)
    tl.store(c_ptr + i[:, None] * BLOCK + i[None, :], acc)
