"""Softmax of rows that fit a program's registers, several rows a program, fp32."""

import triton
import triton.language as tl

SHAPES = ({"M": 256, "N": 1000}, {"M": 8192, "N": 4096}, {"M": 65536, "N": 512})


@triton.jit
def softmax_kernel(x_ptr, y_ptr, M, N, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * stride + columns[None, :]
    x = tl.load(x_ptr + at, mask=inside, other=float("-inf"))
    x = tl.exp(x - tl.max(x, 1)[:, None])
    tl.store(y_ptr + at, x / tl.sum(x, 1)[:, None], mask=inside)


KERNEL = softmax_kernel


def every_config(shape):
    block = 1 << (shape["N"] - 1).bit_length()
    return [
        {"ROWS": rows, "BLOCK": block, "num_warps": w, "num_stages": 2}
        for rows in (1, 2, 4, 8, 16, 32, 64)
        for w in (1, 2, 4, 8, 16, 32)
        if 1 <= rows * block // (32 * w) <= 256
    ]


def configs(shape):
    block = 1 << (shape["N"] - 1).bit_length()
    return [
        {"ROWS": rows, "BLOCK": block, "num_warps": w, "num_stages": 2}
        for rows in (1, 2, 4, 8)
        for w in (1, 2, 4, 8, 16)
    ]


def arguments(shape, config, empty):
    size = (shape["M"], shape["N"])
    return {
        "x_ptr": empty(size, "float32"), "y_ptr": empty(size, "float32"),
        "M": shape["M"], "N": shape["N"], "stride": shape["N"],
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["ROWS"]),)
