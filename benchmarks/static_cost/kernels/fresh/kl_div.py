"""Sums of y (log y - log p) over rows, in pieces, fp32."""

import triton
import triton.language as tl

SHAPES = ({"M": 1024, "N": 8192}, {"M": 4096, "N": 32000})


@triton.jit
def kl_div_kernel(log_p_ptr, y_ptr, out_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < N
        log_p = tl.load(log_p_ptr + row * stride + columns, mask=inside, other=0.0)
        y = tl.load(y_ptr + row * stride + columns, mask=inside, other=0.0)
        total += y * (tl.log(tl.maximum(y, eps)) - log_p)
    tl.store(out_ptr + row, tl.sum(total, 0))


KERNEL = kl_div_kernel


def every_config(shape):
    """Pieces of up to a row; stages are left out, as they change nothing without a product."""
    return [
        {"BLOCK": block, "num_warps": w, "num_stages": 2}
        for block in (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
        if block < 2 * shape["N"]
        for w in (1, 2, 4, 8, 16, 32)
        if 1 <= block // (32 * w) <= 128
    ]


def configs(shape):
    return [
        {"BLOCK": block, "num_warps": w, "num_stages": 2}
        for block in (128, 512, 1024, 2048, 4096, 8192)
        for w in (1, 2, 4, 8)
    ]


def arguments(shape, config, empty):
    size = (shape["M"], shape["N"])
    return {
        "log_p_ptr": empty(size, "float32"), "y_ptr": empty(size, "float32"),
        "out_ptr": empty((shape["M"],), "float32"), "stride": shape["N"], "N": shape["N"],
        "eps": 1e-10,
    }  # fmt: skip


def grid(shape, config):
    return (shape["M"],)
