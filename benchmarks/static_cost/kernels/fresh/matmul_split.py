"""C += A B with K split over programs and atomic sums in fp32; bf16 operands."""

import triton
import triton.language as tl

SHAPES = ({"M": 256, "N": 512, "K": 16384}, {"M": 2048, "N": 2048, "K": 4096})


@triton.jit
def matmul_split_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.program_id(2) * BLOCK_K + tl.arange(0, BLOCK_K)
    a = a_ptr + rows[:, None] * stride_a + depth[None, :]
    b = b_ptr + depth[:, None] * stride_b + columns[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(tl.cdiv(K, BLOCK_K * SPLIT)):
        total = tl.dot(tl.load(a), tl.load(b), total)
        a += BLOCK_K * SPLIT
        b += BLOCK_K * SPLIT * stride_b
    c = c_ptr + rows[:, None] * stride_c + columns[None, :]
    if SPLIT == 1:
        tl.store(c, total)
    else:
        tl.atomic_add(c, total, sem="relaxed")


KERNEL = matmul_split_kernel


def every_config(shape):
    return [
        {
            "BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "SPLIT": split,
            "num_warps": w, "num_stages": s,
        }
        for m, n in ((64, 64), (64, 128), (128, 64), (128, 128))
        for k in (32, 64, 128)
        for split in (1, 2, 4, 8, 16)
        for w, s in ((4, 3), (4, 4), (8, 3))
        if shape["K"] % (k * split) == 0 and 2 * (m + n) * k * s < 200_000
    ]  # fmt: skip


def configs(shape):
    return [
        {
            "BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": 64, "SPLIT": split,
            "num_warps": w, "num_stages": s,
        }
        for m, n in ((64, 64), (128, 64), (128, 128))
        for split in (1, 2, 4, 8)
        for w, s in ((4, 3), (8, 4))
    ]  # fmt: skip


def arguments(shape, config, empty):
    m, n, k = shape["M"], shape["N"], shape["K"]
    return {
        "a_ptr": empty((m, k), "bfloat16"), "b_ptr": empty((k, n), "bfloat16"),
        "c_ptr": empty((m, n), "float32"), "M": m, "N": n, "K": k,
        "stride_a": k, "stride_b": n, "stride_c": n,
    }  # fmt: skip


def grid(shape, config):
    return (
        shape["M"] // config["BLOCK_M"], shape["N"] // config["BLOCK_N"], config["SPLIT"]
    )  # fmt: skip
