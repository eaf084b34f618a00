"""C = A W s: fp16 rows times int8 weights that are widened on the way, a scale a column."""

import triton
import triton.language as tl

SHAPES = ({"M": 128, "N": 4096, "K": 4096}, {"M": 4096, "N": 4096, "K": 2048})


@triton.jit
def matmul_int8_weight_kernel(
    a_ptr, w_ptr, scale_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + rows[:, None] * K + depth[None, :]
    w_tile = w_ptr + depth[:, None] * N + columns[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        a = tl.load(a_tile)
        w = tl.load(w_tile).to(tl.float16)
        total = tl.dot(a, w, total)
        a_tile += BLOCK_K
        w_tile += BLOCK_K * N
    scale = tl.load(scale_ptr + columns)
    c = c_ptr + rows[:, None] * N + columns[None, :]
    tl.store(c, (total * scale[None, :]).to(tl.float16))


KERNEL = matmul_int8_weight_kernel


def every_config(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "num_warps": w, "num_stages": s}
        for m in (32, 64, 128)
        for n in (64, 128, 256)
        for k in (64, 128)
        for w in (4, 8)
        for s in (2, 3, 4)
        if (2 * m + n) * k * s + 2 * n * k < 200_000
    ]


def configs(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "num_warps": w, "num_stages": s}
        for m, n in ((64, 64), (64, 128), (128, 128))
        for k in (64, 128)
        for w in (4, 8)
        for s in (2, 4)
    ]


def arguments(shape, config, empty):
    m, n, k = shape["M"], shape["N"], shape["K"]
    return {
        "a_ptr": empty((m, k), "float16"), "w_ptr": empty((k, n), "int8"),
        "scale_ptr": empty((n,), "float32"), "c_ptr": empty((m, n), "float16"),
        "M": m, "N": n, "K": k,
    }  # fmt: skip


def grid(shape, config):
    return (shape["M"] // config["BLOCK_M"], shape["N"] // config["BLOCK_N"])
