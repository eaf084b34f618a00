"""C = A B^T in fp32, which the tensor units take as tf32; plain pointers."""

import triton
import triton.language as tl

SHAPES = ({"M": 2048, "N": 2048, "K": 1024}, {"M": 1024, "N": 4096, "K": 4096})


@triton.jit
def matmul_tf32_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    in_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first_m = (pid // in_group) * GROUP_M
    group_rows = min(tl.cdiv(M, BLOCK_M) - first_m, GROUP_M)
    rows = (first_m + (pid % in_group) % group_rows) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = ((pid % in_group) // group_rows) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + rows[:, None] * stride_a + depth[None, :]
    b_tile = b_ptr + columns[None, :] * stride_b + depth[:, None]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        total = tl.dot(tl.load(a_tile), tl.load(b_tile), total)
        a_tile += BLOCK_K
        b_tile += BLOCK_K
    tl.store(c_ptr + rows[:, None] * stride_c + columns[None, :], total)


KERNEL = matmul_tf32_kernel


def every_config(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8, "num_warps": w, "num_stages": s}
        for m in (64, 128)
        for n in (64, 128, 256)
        for k in (16, 32, 64)
        for w in (4, 8)
        for s in (2, 3, 4)
        if 4 * (m + n) * k * s < 200_000
    ]


def configs(shape):
    return every_config(shape)[::3]


def arguments(shape, config, empty):
    m, n, k = shape["M"], shape["N"], shape["K"]
    return {
        "a_ptr": empty((m, k), "float32"), "b_ptr": empty((n, k), "float32"),
        "c_ptr": empty((m, n), "float32"), "M": m, "N": n, "K": k,
        "stride_a": k, "stride_b": k, "stride_c": n,
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["BLOCK_M"]) * -(-shape["N"] // config["BLOCK_N"]),)
