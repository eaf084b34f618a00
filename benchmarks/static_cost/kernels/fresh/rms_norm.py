"""RMS norm of rows that fit a program's registers, several rows in one tile, fp16."""

import triton
import triton.language as tl

SHAPES = ({"M": 16384, "N": 2048}, {"M": 8192, "N": 5120})


@triton.jit
def rms_norm_kernel(
    x_ptr, w_ptr, y_ptr, M, N, stride, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * stride + columns[None, :]
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, 1) / N + eps)
    tl.store(y_ptr + at, (x * scale[:, None] * w[None, :]).to(tl.float16), mask=inside)


KERNEL = rms_norm_kernel


def every_config(shape):
    block = 1 << (shape["N"] - 1).bit_length()
    return [
        {"ROWS": rows, "BLOCK": block, "num_warps": w, "num_stages": 2}
        for rows in (1, 2, 4, 8, 16)
        for w in (1, 2, 4, 8, 16, 32)
        if 1 <= rows * block // (32 * w) <= 256
    ]


def configs(shape):
    return every_config(shape)[::2]


def arguments(shape, config, empty):
    size = (shape["M"], shape["N"])
    return {
        "x_ptr": empty(size, "float16"), "w_ptr": empty((shape["N"],), "float16"),
        "y_ptr": empty(size, "float16"), "M": shape["M"], "N": shape["N"],
        "stride": shape["N"], "eps": 1e-6,
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["ROWS"]),)
