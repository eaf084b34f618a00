"""Rows of a table picked by indices, fp16."""

import triton
import triton.language as tl

SHAPES = ({"T": 2048, "D": 768, "V": 32000}, {"T": 65536, "D": 2048, "V": 32000})


@triton.jit
def embedding_kernel(
    index_ptr, table_ptr, out_ptr, T, D, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + rows, mask=rows < T, other=0)
    inside = (rows[:, None] < T) & (columns[None, :] < D)
    values = tl.load(table_ptr + index[:, None] * stride + columns[None, :], mask=inside)
    tl.store(out_ptr + rows[:, None] * stride + columns[None, :], values, mask=inside)


KERNEL = embedding_kernel


def every_config(shape):
    return [
        {"ROWS": rows, "BLOCK": block, "num_warps": w, "num_stages": 2}
        for rows in (1, 2, 4, 8, 16, 32, 64)
        for block in (64, 128, 256, 512, 1024, 2048)
        if block < 2 * shape["D"]
        for w in (1, 2, 4, 8)
        if 2 <= rows * block // (32 * w) <= 64
    ]


def configs(shape):
    return [
        {"ROWS": rows, "BLOCK": block, "num_warps": w, "num_stages": 2}
        for rows in (1, 4, 16, 64)
        for block in (64, 512)
        for w in (1, 2, 4, 8)
    ]


def arguments(shape, config, empty):
    return {
        "index_ptr": empty((shape["T"],), "int64", shape["V"]),
        "table_ptr": empty((shape["V"], shape["D"]), "float16"),
        "out_ptr": empty((shape["T"], shape["D"]), "float16"),
        "T": shape["T"], "D": shape["D"], "stride": shape["D"],
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["T"] // config["ROWS"]), -(-shape["D"] // config["BLOCK"]))
