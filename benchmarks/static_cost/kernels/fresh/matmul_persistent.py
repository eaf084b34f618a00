"""C = A B in fp16 by as many programs as the chip has units, each with several tiles."""

import triton
import triton.language as tl

SHAPES = ({"M": 4096, "N": 2048, "K": 2048}, {"M": 8192, "N": 4096, "K": 512})


@triton.jit
def matmul_persistent_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tiles_n = tl.cdiv(N, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    for tile in range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * tiles_n, tl.num_programs(0)):
        rows = (tile // tiles_n) * BLOCK_M + tl.arange(0, BLOCK_M)
        columns = (tile % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            a = tl.load(a_ptr + rows[:, None] * stride_a + (k + depth)[None, :])
            b = tl.load(b_ptr + (k + depth)[:, None] * stride_b + columns[None, :])
            total = tl.dot(a, b, total)
        tl.store(c_ptr + rows[:, None] * stride_c + columns[None, :], total.to(tl.float16))


KERNEL = matmul_persistent_kernel


def every_config(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "num_warps": w, "num_stages": s}
        for m in (64, 128)
        for n in (64, 128, 256)
        for k in (32, 64, 128)
        for w in (4, 8)
        for s in (2, 3, 4)
        if 2 * (m + n) * k * s < 200_000
    ]


def configs(shape):
    return every_config(shape)[::3]


def arguments(shape, config, empty):
    m, n, k = shape["M"], shape["N"], shape["K"]
    return {
        "a_ptr": empty((m, k), "float16"), "b_ptr": empty((k, n), "float16"),
        "c_ptr": empty((m, n), "float16"), "M": m, "N": n, "K": k,
        "stride_a": k, "stride_b": n, "stride_c": n,
    }  # fmt: skip


def grid(shape, config):
    return (132,)
