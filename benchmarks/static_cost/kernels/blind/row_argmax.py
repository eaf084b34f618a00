"""The largest of each row and where it is, several rows a program, in pieces; fp32."""

import triton
import triton.language as tl

SHAPES = ({"M": 2048, "N": 12288}, {"M": 24576, "N": 1536})


@triton.jit
def row_argmax_kernel(
    x_ptr, value_ptr, index_ptr, M, N, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    best = tl.full((ROWS, BLOCK), float("-inf"), dtype=tl.float32)
    where = tl.zeros((ROWS, BLOCK), dtype=tl.int32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        x = tl.load(
            x_ptr + rows[:, None] * stride + columns[None, :], mask=inside, other=float("-inf")
        )
        better = x > best
        best = tl.where(better, x, best)
        where = tl.where(better, columns[None, :], where)
    top = tl.max(best, 1)
    first = tl.min(tl.where(best == top[:, None], where, 2147483647), 1)
    tl.store(value_ptr + rows, top, mask=rows < M)
    tl.store(index_ptr + rows, first.to(tl.int64), mask=rows < M)


KERNEL = row_argmax_kernel


def every_config(shape):
    return [
        {"ROWS": rows, "BLOCK": block, "num_warps": w, "num_stages": 2}
        for rows in (1, 2, 4, 8)
        for block in (64, 128, 256, 512, 1024, 2048, 4096)
        if block < 2 * shape["N"]
        for w in (1, 2, 4, 8, 16)
        if 1 <= rows * block // (32 * w) <= 32
    ]


def configs(shape):
    return every_config(shape)[::2]


def arguments(shape, config, empty):
    return {
        "x_ptr": empty((shape["M"], shape["N"]), "float32"),
        "value_ptr": empty((shape["M"],), "float32"),
        "index_ptr": empty((shape["M"],), "int64"),
        "M": shape["M"], "N": shape["N"], "stride": shape["N"],
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["ROWS"]),)
