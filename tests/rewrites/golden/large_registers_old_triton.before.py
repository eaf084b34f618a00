# rewrite: large_registers
# at: def mm_kernel
# target: xpu:pvc
# triton: 3.5
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"TILE": 128}, num_warps=16),
        triton.Config({"TILE": 256}, num_warps=32, num_stages=3),
    ],
    key=["n"],
)
@triton.jit
def mm_kernel(a_ptr, b_ptr, c_ptr, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    j = tl.program_id(1) * TILE + tl.arange(0, TILE)
    acc = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(0, n, 32):
        r = k + tl.arange(0, 32)
        a = tl.load(a_ptr + i[:, None] * n + r[None, :])
        b = tl.load(b_ptr + r[:, None] * n + j[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + i[:, None] * n + j[None, :], acc)


def run(a, b, c, n):
    mm_kernel[lambda meta: (triton.cdiv(n, meta["TILE"]), triton.cdiv(n, meta["TILE"]))](a, b, c, n)
