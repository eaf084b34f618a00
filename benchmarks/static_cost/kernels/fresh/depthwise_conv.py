"""Causal convolution of each channel over time with four taps, channels last, bf16."""

import triton
import triton.language as tl

SHAPES = ({"T": 4096, "C": 2048}, {"T": 32768, "C": 1536})


@triton.jit
def depthwise_conv_kernel(
    x_ptr, weight_ptr, out_ptr, T, C, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr
):
    times = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    channels = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    total = tl.zeros((BLOCK_T, BLOCK_C), dtype=tl.float32)
    for tap in tl.static_range(4):
        source = times - 3 + tap
        inside = (source[:, None] >= 0) & (source[:, None] < T) & (channels[None, :] < C)
        x = tl.load(x_ptr + source[:, None] * C + channels[None, :], mask=inside, other=0.0)
        weight = tl.load(weight_ptr + tap * C + channels, mask=channels < C, other=0.0)
        total += x.to(tl.float32) * weight.to(tl.float32)[None, :]
    out = out_ptr + times[:, None] * C + channels[None, :]
    inside = (times[:, None] < T) & (channels[None, :] < C)
    tl.store(out, (total * tl.sigmoid(total)).to(tl.bfloat16), mask=inside)


KERNEL = depthwise_conv_kernel


def every_config(shape):
    """Small tiles only: large ones keep the compiler busy for minutes."""
    return [
        {"BLOCK_T": t, "BLOCK_C": c, "num_warps": w, "num_stages": 2}
        for t in (1, 2, 4, 8, 16, 32)
        for c in (32, 64, 128, 256, 512, 1024)
        for w in (1, 2, 4, 8)
        if 2 <= t * c // (32 * w) <= 32
    ]


def configs(shape):
    return [
        {"BLOCK_T": t, "BLOCK_C": c, "num_warps": w, "num_stages": 2}
        for t in (4, 16)
        for c in (32, 128, 512)
        for w in (1, 4, 8)
    ]


def arguments(shape, config, empty):
    size = (shape["T"], shape["C"])
    return {
        "x_ptr": empty(size, "bfloat16"), "weight_ptr": empty((4, shape["C"]), "bfloat16"),
        "out_ptr": empty(size, "bfloat16"), "T": shape["T"], "C": shape["C"],
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["T"] // config["BLOCK_T"]), -(-shape["C"] // config["BLOCK_C"]))
