"""Products of rows, one number a row, several rows a program, in pieces; bf16."""

import triton
import triton.language as tl

SHAPES = ({"M": 16384, "N": 4096}, {"M": 65536, "N": 512})


@triton.jit
def row_dot_kernel(a_ptr, b_ptr, out_ptr, M, N, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        at = rows[:, None] * stride + columns[None, :]
        a = tl.load(a_ptr + at, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + at, mask=inside, other=0.0).to(tl.float32)
        total += a * b
    tl.store(out_ptr + rows, tl.sum(total, 1), mask=rows < M)


KERNEL = row_dot_kernel


def every_config(shape):
    return [
        {"ROWS": rows, "BLOCK": block, "num_warps": w, "num_stages": 2}
        for rows in (1, 2, 4, 8, 16, 32)
        for block in (64, 128, 256, 512, 1024, 2048)
        if block < 2 * shape["N"]
        for w in (1, 2, 4, 8)
        if 2 <= rows * block // (32 * w) <= 64
    ]


def configs(shape):
    return every_config(shape)[::2]


def arguments(shape, config, empty):
    size = (shape["M"], shape["N"])
    return {
        "a_ptr": empty(size, "bfloat16"), "b_ptr": empty(size, "bfloat16"),
        "out_ptr": empty((shape["M"],), "float32"),
        "M": shape["M"], "N": shape["N"], "stride": shape["N"],
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["ROWS"]),)
