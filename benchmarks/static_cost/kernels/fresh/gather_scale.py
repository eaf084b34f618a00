"""Rows picked by indices, weighted and added up to a token's sum, four to each; bf16."""

import triton
import triton.language as tl

SHAPES = ({"T": 8192, "D": 2048, "V": 65536}, {"T": 16384, "D": 512, "V": 32768})


@triton.jit
def gather_scale_kernel(
    index_ptr, weight_ptr, table_ptr, out_ptr, T, D,
    PICKS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (rows[:, None] < T) & (columns[None, :] < D)
    total = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    for pick in range(PICKS):
        index = tl.load(index_ptr + rows * PICKS + pick, mask=rows < T, other=0)
        weight = tl.load(weight_ptr + rows * PICKS + pick, mask=rows < T, other=0.0)
        x = tl.load(table_ptr + index[:, None] * D + columns[None, :], mask=inside, other=0.0)
        total += x.to(tl.float32) * weight[:, None]
    tl.store(out_ptr + rows[:, None] * D + columns[None, :], total.to(tl.bfloat16), mask=inside)


KERNEL = gather_scale_kernel


def every_config(shape):
    return [
        {"PICKS": 4, "ROWS": rows, "BLOCK": block, "num_warps": w, "num_stages": 2}
        for rows in (1, 2, 4, 8, 16)
        for block in (64, 128, 256, 512, 1024, 2048)
        if block < 2 * shape["D"]
        for w in (1, 2, 4, 8)
        if 2 <= rows * block // (32 * w) <= 32
    ]


def configs(shape):
    return every_config(shape)[::2]


def arguments(shape, config, empty):
    t, d, v = shape["T"], shape["D"], shape["V"]
    return {
        "index_ptr": empty((t, 4), "int64", v), "weight_ptr": empty((t, 4), "float32"),
        "table_ptr": empty((v, d), "bfloat16"), "out_ptr": empty((t, d), "bfloat16"),
        "T": t, "D": d,
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["T"] // config["ROWS"]), -(-shape["D"] // config["BLOCK"]))
