"""C[b] = A[b] B[b]^T in bf16: both operands contiguous along the sum."""

import triton
import triton.language as tl

SHAPES = (
    {"B": 64, "M": 256, "N": 256, "K": 64},
    {"B": 16, "M": 1024, "N": 1024, "K": 1024},
)


@triton.jit
def matmul_batched_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_ab,
    stride_am,
    stride_bb,
    stride_bn,
    stride_cb,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    tile = tl.program_id(0)
    batch = tl.program_id(1)
    tiles_n = tl.cdiv(N, BLOCK_N)
    rows = (tile // tiles_n) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = (tile % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + batch * stride_ab + rows[:, None] * stride_am + depth[None, :]
    b_tile = b_ptr + batch * stride_bb + columns[None, :] * stride_bn + depth[:, None]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        a = tl.load(a_tile, mask=rows[:, None] < M, other=0.0)
        b = tl.load(b_tile, mask=columns[None, :] < N, other=0.0)
        total = tl.dot(a, b, total)
        a_tile += BLOCK_K
        b_tile += BLOCK_K
    out = c_ptr + batch * stride_cb + rows[:, None] * stride_cm + columns[None, :]
    tl.store(out, total.to(tl.bfloat16), mask=(rows[:, None] < M) & (columns[None, :] < N))


KERNEL = matmul_batched_kernel


def every_config(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "num_warps": w, "num_stages": s}
        for m in (32, 64, 128)
        for n in (64, 128, 256)
        for k in (32, 64)
        for w in (2, 4, 8)
        for s in (2, 4)
    ]


def configs(shape):
    return every_config(shape)[::5]


def arguments(shape, config, empty):
    b, m, n, k = shape["B"], shape["M"], shape["N"], shape["K"]
    return {
        "a_ptr": empty((b, m, k), "bfloat16"), "b_ptr": empty((b, n, k), "bfloat16"),
        "c_ptr": empty((b, m, n), "bfloat16"), "M": m, "N": n, "K": k,
        "stride_ab": m * k, "stride_am": k, "stride_bb": n * k, "stride_bn": k,
        "stride_cb": m * n, "stride_cm": n,
    }  # fmt: skip


def grid(shape, config):
    tiles = -(-shape["M"] // config["BLOCK_M"]) * -(-shape["N"] // config["BLOCK_N"])
    return (tiles, shape["B"])
