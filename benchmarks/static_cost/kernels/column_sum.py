"""Sums of columns: each program a block of rows and columns, added up by atomics, fp32."""

import triton
import triton.language as tl

SHAPES = ({"M": 1024, "N": 1024}, {"M": 32768, "N": 4096})


@triton.jit
def column_sum_kernel(
    x_ptr, out_ptr, M, N, stride, SPAN: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    first = tl.program_id(0) * SPAN
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, SPAN, BLOCK_M):
        rows = first + start + tl.arange(0, BLOCK_M)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        total += tl.load(x_ptr + rows[:, None] * stride + columns[None, :], mask=inside, other=0.0)
    tl.atomic_add(out_ptr + columns, tl.sum(total, 0), mask=columns < N)


KERNEL = column_sum_kernel


def every_config(shape):
    return [
        {"SPAN": span, "BLOCK_M": m, "BLOCK_N": n, "num_warps": w, "num_stages": 3}
        for span in (64, 256, 1024)
        for m in (8, 32)
        for n in (32, 128, 512)
        for w in (2, 4, 8)
    ]


def configs(shape):
    return every_config(shape)[::2]


def arguments(shape, config, empty):
    return {
        "x_ptr": empty((shape["M"], shape["N"]), "float32"),
        "out_ptr": empty((shape["N"],), "float32"),
        "M": shape["M"], "N": shape["N"], "stride": shape["N"],
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["SPAN"]), -(-shape["N"] // config["BLOCK_N"]))
