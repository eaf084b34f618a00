"""int8 to bf16 with a scale for each row and 128 columns, in tiles."""

import triton
import triton.language as tl

SHAPES = ({"M": 4096, "N": 6144}, {"M": 14336, "N": 4096})


@triton.jit
def dequantize_kernel(
    q_ptr, scale_ptr, out_ptr, M, N, stride_scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    q = tl.load(q_ptr + at, mask=inside, other=0).to(tl.float32)
    scale_at = rows[:, None] * stride_scale + (columns // 128)[None, :]
    scale = tl.load(scale_ptr + scale_at, mask=inside, other=0.0)
    tl.store(out_ptr + at, (q * scale).to(tl.bfloat16), mask=inside)


KERNEL = dequantize_kernel


def every_config(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "num_warps": w, "num_stages": 2}
        for m in (1, 2, 4, 8, 16, 32)
        for n in (64, 128, 256, 512, 1024)
        for w in (1, 2, 4, 8)
        if 2 <= m * n // (32 * w) <= 64
    ]


def configs(shape):
    return every_config(shape)[::2]


def arguments(shape, config, empty):
    m, n = shape["M"], shape["N"]
    return {
        "q_ptr": empty((m, n), "int8"), "scale_ptr": empty((m, n // 128), "float32"),
        "out_ptr": empty((m, n), "bfloat16"), "M": m, "N": n, "stride_scale": n // 128,
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["N"] // config["BLOCK_N"]), -(-shape["M"] // config["BLOCK_M"]))
