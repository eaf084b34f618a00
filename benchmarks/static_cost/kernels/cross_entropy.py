"""Cross entropy of rows of logits against labels, one pass over the row in pieces, bf16."""

import triton
import triton.language as tl

SHAPES = ({"M": 512, "N": 4096}, {"M": 4096, "N": 32768})


@triton.jit
def cross_entropy_kernel(x_ptr, label_ptr, loss_ptr, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(label_ptr + row)
    x_row = x_ptr + row * stride
    chosen = tl.load(x_row + label).to(tl.float32)
    top = float("-inf")
    norm = 0.0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + columns, mask=columns < N, other=float("-inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(x, 0))
        norm = norm * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top), 0)
        top = new_top
    tl.store(loss_ptr + row, top + tl.log(norm) - chosen)


KERNEL = cross_entropy_kernel


def every_config(shape):
    """Pieces of up to a row; stages are left out, as they change nothing without a product."""
    return [
        {"BLOCK": block, "num_warps": w, "num_stages": 3}
        for block in (128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
        if block < 2 * shape["N"]
        for w in (1, 2, 4, 8, 16, 32)
        if 1 <= block // (32 * w) <= 256
    ]


def configs(shape):
    return [
        {"BLOCK": block, "num_warps": w, "num_stages": s}
        for block in (512, 1024, 4096, 16384)
        for w in (2, 4, 8, 16)
        for s in (1, 3)
    ]


def arguments(shape, config, empty):
    return {
        "x_ptr": empty((shape["M"], shape["N"]), "bfloat16"),
        "label_ptr": empty((shape["M"],), "int64", shape["N"]),
        "loss_ptr": empty((shape["M"],), "float32"),
        "stride": shape["N"], "N": shape["N"],
    }  # fmt: skip


def grid(shape, config):
    return (shape["M"],)
