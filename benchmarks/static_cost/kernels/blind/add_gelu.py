"""gelu of a sum of two matrices and a bias a column, in tiles, bf16."""

import triton
import triton.language as tl

SHAPES = ({"M": 4096, "N": 3072}, {"M": 12288, "N": 5120})


@triton.jit
def add_gelu_kernel(
    x_ptr, residual_ptr, bias_ptr, out_ptr, M, N, stride,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * stride + columns[None, :]
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + at, mask=inside, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
    z = x + residual + bias[None, :]
    y = 0.5 * z * (1.0 + tl.erf(z * 0.7071067811865476))
    tl.store(out_ptr + at, y.to(tl.bfloat16), mask=inside)


KERNEL = add_gelu_kernel


def every_config(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "num_warps": w, "num_stages": 2}
        for m in (1, 2, 4, 8, 16, 32)
        for n in (64, 128, 256, 512, 1024)
        for w in (1, 2, 4, 8)
        if 2 <= m * n // (32 * w) <= 32
    ]


def configs(shape):
    return every_config(shape)[::2]


def arguments(shape, config, empty):
    size = (shape["M"], shape["N"])
    return {
        "x_ptr": empty(size, "bfloat16"), "residual_ptr": empty(size, "bfloat16"),
        "bias_ptr": empty((shape["N"],), "bfloat16"), "out_ptr": empty(size, "bfloat16"),
        "M": shape["M"], "N": shape["N"], "stride": shape["N"],
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["BLOCK_M"]), -(-shape["N"] // config["BLOCK_N"]))
