"""C = gelu(A B + bias) in fp16; program order along rows, the grid in two axes."""

import triton
import triton.language as tl

SHAPES = ({"M": 1024, "N": 1024, "K": 512}, {"M": 4096, "N": 4096, "K": 2048})


@triton.jit
def matmul_gelu_kernel(
    a_ptr,
    b_ptr,
    bias_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(
            a_ptr + rows[:, None] * stride_am + (k + depth)[None, :],
            mask=(rows[:, None] < M) & ((k + depth)[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + (k + depth)[:, None] * stride_bk + columns[None, :],
            mask=((k + depth)[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        total += tl.dot(a, b)
    bias = tl.load(bias_ptr + columns, mask=columns < N, other=0.0)
    x = total + bias[None, :].to(tl.float32)
    y = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :], y.to(tl.float16), mask=inside)


KERNEL = matmul_gelu_kernel


def every_config(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "num_warps": w, "num_stages": s}
        for m in (64, 128)
        for n in (32, 64, 128, 256)
        for k in (32, 64)
        for w in (4, 8)
        for s in (2, 3, 4)
    ]


def configs(shape):
    return every_config(shape)[::4]


def arguments(shape, config, empty):
    m, n, k = shape["M"], shape["N"], shape["K"]
    return {
        "a_ptr": empty((m, k), "float16"), "b_ptr": empty((k, n), "float16"),
        "bias_ptr": empty((n,), "float16"), "c_ptr": empty((m, n), "float16"),
        "M": m, "N": n, "K": k, "stride_am": k, "stride_bk": n, "stride_cm": n,
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["BLOCK_M"]), -(-shape["N"] // config["BLOCK_N"]))
