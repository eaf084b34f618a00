"""Layer norm over rows in pieces: once for mean and variance, once to write; fp16."""

import triton
import triton.language as tl

SHAPES = ({"M": 512, "N": 2048}, {"M": 8192, "N": 4096}, {"M": 2048, "N": 16384})


@triton.jit
def layernorm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x_ptr + row * stride
    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + columns, mask=columns < N, other=0.0).to(tl.float32)
        sums += x
        squares += x * x
    mean = tl.sum(sums, 0) / N
    variance = tl.sum(squares, 0) / N - mean * mean
    rstd = 1.0 / tl.sqrt(variance + eps)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < N
        x = tl.load(x_row + columns, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        y = (x - mean) * rstd * w + b
        tl.store(y_ptr + row * stride + columns, y.to(tl.float16), mask=inside)


KERNEL = layernorm_kernel


def every_config(shape):
    """Pieces of up to a row; stages are left out, as they change nothing without a product."""
    return [
        {"BLOCK": block, "num_warps": w, "num_stages": 3}
        for block in (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
        if block < 2 * shape["N"]
        for w in (1, 2, 4, 8, 16, 32)
        if 1 <= block // (32 * w) <= 128
    ]


def configs(shape):
    return [
        {"BLOCK": block, "num_warps": w, "num_stages": 3}
        for block in (128, 512, 1024, 2048, 4096)
        for w in (1, 2, 4, 8)
    ]


def arguments(shape, config, empty):
    size = (shape["M"], shape["N"])
    return {
        "x_ptr": empty(size, "float16"), "w_ptr": empty((shape["N"],), "float16"),
        "b_ptr": empty((shape["N"],), "float16"), "y_ptr": empty(size, "float16"),
        "stride": shape["N"], "N": shape["N"], "eps": 1e-5,
    }  # fmt: skip


def grid(shape, config):
    return (shape["M"],)
