"""gelu of the first half of each row times the second half, in tiles, bf16."""

import triton
import triton.language as tl

SHAPES = ({"M": 8192, "N": 2816}, {"M": 4096, "N": 11008})


@triton.jit
def geglu_kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * (2 * N) + columns[None, :]
    gate = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(x_ptr + at + N, mask=inside, other=0.0).to(tl.float32)
    inner = 0.7978845608 * (gate + 0.044715 * gate * gate * gate)
    y = gate * tl.sigmoid(2.0 * inner) * up
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], y.to(tl.bfloat16), mask=inside)


KERNEL = geglu_kernel


def every_config(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "num_warps": w, "num_stages": 2}
        for m in (1, 2, 4, 8, 16)
        for n in (64, 128, 256, 512, 1024, 2048)
        for w in (1, 2, 4, 8)
        if 2 <= m * n // (32 * w) <= 64
    ]


def configs(shape):
    return every_config(shape)[::2]


def arguments(shape, config, empty):
    m, n = shape["M"], shape["N"]
    return {
        "x_ptr": empty((m, 2 * n), "bfloat16"), "out_ptr": empty((m, n), "bfloat16"),
        "M": m, "N": n,
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["BLOCK_M"]), -(-shape["N"] // config["BLOCK_N"]))
