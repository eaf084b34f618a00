"""Y = X^T, fp32."""

import triton
import triton.language as tl

SHAPES = ({"M": 1024, "N": 1024}, {"M": 8192, "N": 8192})


@triton.jit
def transpose_kernel(
    x_ptr, y_ptr, M, N, stride_x, stride_y, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * stride_x + columns[None, :], mask=inside)
    out = y_ptr + columns[:, None] * stride_y + rows[None, :]
    tl.store(out, tl.trans(x), mask=tl.trans(inside))


KERNEL = transpose_kernel


def every_config(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "num_warps": w, "num_stages": 2}
        for m in (4, 16, 32, 64, 128)
        for n in (4, 16, 32, 64, 128)
        for w in (1, 4, 8)
    ]


def configs(shape):
    return every_config(shape)[::2]


def arguments(shape, config, empty):
    m, n = shape["M"], shape["N"]
    return {
        "x_ptr": empty((m, n), "float32"), "y_ptr": empty((n, m), "float32"),
        "M": m, "N": n, "stride_x": n, "stride_y": m,
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["BLOCK_M"]), -(-shape["N"] // config["BLOCK_N"]))
