"""A convolution of rows with seven weights, each tap a load of its own, fp32."""

import triton
import triton.language as tl

SHAPES = ({"M": 64, "N": 8192}, {"M": 2048, "N": 16384})


@triton.jit
def stencil_kernel(x_ptr, w_ptr, y_ptr, N, stride, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for tap in tl.static_range(TAPS):
        at = columns + tap - TAPS // 2
        x = tl.load(x_ptr + row * stride + at, mask=(at >= 0) & (at < N), other=0.0)
        total += x * tl.load(w_ptr + tap)
    tl.store(y_ptr + row * stride + columns, total, mask=columns < N)


KERNEL = stencil_kernel


def every_config(shape):
    return [
        {"TAPS": 7, "BLOCK": block, "num_warps": w, "num_stages": 2}
        for block in (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
        for w in (1, 2, 4, 8, 16, 32)
        if 1 <= block // (32 * w) <= 64
    ]


def configs(shape):
    return [
        {"TAPS": 7, "BLOCK": block, "num_warps": w, "num_stages": 2}
        for block in (64, 128, 512, 1024, 4096)
        for w in (1, 2, 4, 8)
    ]


def arguments(shape, config, empty):
    size = (shape["M"], shape["N"])
    return {
        "x_ptr": empty(size, "float32"), "w_ptr": empty((config["TAPS"],), "float32"),
        "y_ptr": empty(size, "float32"), "N": shape["N"], "stride": shape["N"],
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["N"] // config["BLOCK"]), shape["M"])
