"""Every third column of a matrix, packed; fp32."""

import triton
import triton.language as tl

SHAPES = ({"M": 512, "N": 512}, {"M": 8192, "N": 2048})


@triton.jit
def strided_copy_kernel(
    x_ptr, y_ptr, M, N, stride_m, stride_n, stride_y, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * stride_m + columns[None, :] * stride_n, mask=inside)
    tl.store(y_ptr + rows[:, None] * stride_y + columns[None, :], x, mask=inside)


KERNEL = strided_copy_kernel


def every_config(shape):
    return [
        {"ROWS": rows, "BLOCK": block, "num_warps": w, "num_stages": 2}
        for rows in (1, 4, 16, 64)
        for block in (8, 32, 128, 512)
        for w in (1, 4, 8)
    ]


def configs(shape):
    return every_config(shape)[::2]


def arguments(shape, config, empty):
    m, n = shape["M"], shape["N"]
    return {
        "x_ptr": empty((m, 3 * n), "float32"), "y_ptr": empty((m, n), "float32"),
        "M": m, "N": n, "stride_m": 3 * n, "stride_n": 3, "stride_y": n,
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["N"] // config["BLOCK"]), -(-shape["M"] // config["ROWS"]))
