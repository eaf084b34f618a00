"""C = silu(A B) * (A D): two products of the same rows in one loop, bf16."""

import triton
import triton.language as tl

SHAPES = ({"M": 2048, "N": 2816, "K": 2048}, {"M": 8192, "N": 1408, "K": 1024})


@triton.jit
def gated_matmul_kernel(
    a_ptr, gate_ptr, up_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    in_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first_m = (pid // in_group) * GROUP_M
    group_rows = min(tiles_m - first_m, GROUP_M)
    rows = (first_m + (pid % in_group) % group_rows) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = ((pid % in_group) // group_rows) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    gate = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    up = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(
            a_ptr + rows[:, None] * stride_a + (k + depth)[None, :],
            mask=rows[:, None] < M, other=0.0,
        )  # fmt: skip
        at = (k + depth)[:, None] * stride_b + columns[None, :]
        inside = columns[None, :] < N
        gate = tl.dot(a, tl.load(gate_ptr + at, mask=inside, other=0.0), gate)
        up = tl.dot(a, tl.load(up_ptr + at, mask=inside, other=0.0), up)
    y = gate * tl.sigmoid(gate) * up
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    c = c_ptr + rows[:, None] * stride_c + columns[None, :]
    tl.store(c, y.to(tl.bfloat16), mask=inside)


KERNEL = gated_matmul_kernel


def every_config(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8, "num_warps": w, "num_stages": s}
        for m in (64, 128)
        for n in (32, 64, 128)
        for k in (32, 64, 128)
        for w in (4, 8)
        for s in (2, 3, 4)
        if 2 * (m + 2 * n) * k * s <= 200_000
    ]


def configs(shape):
    return every_config(shape)[::4]


def arguments(shape, config, empty):
    m, n, k = shape["M"], shape["N"], shape["K"]
    return {
        "a_ptr": empty((m, k), "bfloat16"), "gate_ptr": empty((k, n), "bfloat16"),
        "up_ptr": empty((k, n), "bfloat16"), "c_ptr": empty((m, n), "bfloat16"),
        "M": m, "N": n, "K": k, "stride_a": k, "stride_b": n, "stride_c": n,
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["BLOCK_M"]) * -(-shape["N"] // config["BLOCK_N"]),)
