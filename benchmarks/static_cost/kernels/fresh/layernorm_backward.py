"""The gradient of layer norm to its input, a row a program in one piece, fp16."""

import triton
import triton.language as tl

SHAPES = ({"M": 16384, "N": 2048}, {"M": 4096, "N": 8192})


@triton.jit
def layernorm_backward_kernel(
    x_ptr, dy_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    columns = tl.arange(0, BLOCK)
    inside = columns < N
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    for step in range(ROWS):
        row = tl.program_id(0) * ROWS + step
        x = tl.load(x_ptr + row * N + columns, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * N + columns, mask=inside, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row)
        normal = tl.where(inside, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
        scaled = dy * w
        along = tl.sum(normal * scaled, 0) / N
        level = tl.sum(scaled, 0) / N
        dx = (scaled - (normal * along + level)) * rstd
        tl.store(dx_ptr + row * N + columns, dx.to(tl.float16), mask=inside)


KERNEL = layernorm_backward_kernel


def every_config(shape):
    block = 1 << (shape["N"] - 1).bit_length()
    return [
        {"ROWS": rows, "BLOCK": block, "num_warps": w, "num_stages": 2}
        for rows in (1, 2, 4, 8, 16)
        if shape["M"] // rows >= 132
        for w in (1, 2, 4, 8, 16, 32)
        if 1 <= block // (32 * w) <= 128
    ]


def configs(shape):
    return every_config(shape)[::2]


def arguments(shape, config, empty):
    size = (shape["M"], shape["N"])
    return {
        "x_ptr": empty(size, "float16"), "dy_ptr": empty(size, "float16"),
        "w_ptr": empty((shape["N"],), "float16"), "mean_ptr": empty((shape["M"],), "float32"),
        "rstd_ptr": empty((shape["M"],), "float32"), "dx_ptr": empty(size, "float16"),
        "M": shape["M"], "N": shape["N"],
    }  # fmt: skip


def grid(shape, config):
    return (shape["M"] // config["ROWS"],)
