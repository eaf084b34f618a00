"""C = A B in fp16, plain pointers, programs in groups of rows of tiles."""

import triton
import triton.language as tl

SHAPES = (
    {"M": 512, "N": 512, "K": 1024},
    {"M": 4096, "N": 4096, "K": 4096},
    {"M": 2048, "N": 8192, "K": 1024},
)


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * tiles_n
    group = pid // in_group
    first_m = group * GROUP_M
    group_rows = min(tiles_m - first_m, GROUP_M)
    pid_m = first_m + (pid % in_group) % group_rows
    pid_n = (pid % in_group) // group_rows

    rows = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    depth = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + rows[:, None] * stride_am + depth[None, :] * stride_ak
    b_tile = b_ptr + depth[:, None] * stride_bk + columns[None, :] * stride_bn
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_tile, mask=depth[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_tile, mask=depth[:, None] < K - k * BLOCK_K, other=0.0)
        total = tl.dot(a, b, total)
        a_tile += BLOCK_K * stride_ak
        b_tile += BLOCK_K * stride_bk

    out_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    out_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_tile = c_ptr + out_m[:, None] * stride_cm + out_n[None, :] * stride_cn
    inside = (out_m[:, None] < M) & (out_n[None, :] < N)
    tl.store(c_tile, total.to(tl.float16), mask=inside)


KERNEL = matmul_kernel


def every_config(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8, "num_warps": w, "num_stages": s}
        for m in (32, 64, 128, 256)
        for n in (32, 64, 128, 256)
        for k in (32, 64, 128)
        for w in (4, 8)
        for s in (2, 3, 4)
    ]


def configs(shape):
    return every_config(shape)[::7]


def arguments(shape, config, empty):
    m, n, k = shape["M"], shape["N"], shape["K"]
    return {
        "a_ptr": empty((m, k), "float16"), "b_ptr": empty((k, n), "float16"),
        "c_ptr": empty((m, n), "float16"), "M": m, "N": n, "K": k,
        "stride_am": k, "stride_ak": 1, "stride_bk": n, "stride_bn": 1,
        "stride_cm": n, "stride_cn": 1,
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["BLOCK_M"]) * -(-shape["N"] // config["BLOCK_N"]),)
