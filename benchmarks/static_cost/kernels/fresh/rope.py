"""Rotary position embedding in place: halves of each head turned by the token's angle, bf16."""

import triton
import triton.language as tl

SHAPES = ({"T": 2048, "H": 16, "D": 128}, {"T": 16384, "H": 32, "D": 64})


@triton.jit
def rope_kernel(
    x_ptr, cos_ptr, sin_ptr, stride_t, stride_h, H,
    HALF: tl.constexpr, BLOCK_H: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0)
    heads = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    lane = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token * HALF + lane)[None, :]
    sin = tl.load(sin_ptr + token * HALF + lane)[None, :]
    at = x_ptr + token * stride_t + heads[:, None] * stride_h + lane[None, :]
    inside = heads[:, None] < H
    first = tl.load(at, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(at + HALF, mask=inside, other=0.0).to(tl.float32)
    tl.store(at, (first * cos - second * sin).to(tl.bfloat16), mask=inside)
    tl.store(at + HALF, (second * cos + first * sin).to(tl.bfloat16), mask=inside)


KERNEL = rope_kernel


def every_config(shape):
    half = shape["D"] // 2
    return [
        {"HALF": half, "BLOCK_H": h, "num_warps": w, "num_stages": 2}
        for h in (1, 2, 4, 8, 16, 32, 64)
        if h < 2 * shape["H"]
        for w in (1, 2, 4, 8, 16)
        if 1 <= h * half // (32 * w) <= 128
    ]


def configs(shape):
    return [
        {"HALF": shape["D"] // 2, "BLOCK_H": h, "num_warps": w, "num_stages": 2}
        for h in (1, 2, 4, 8, 16, 32)
        for w in (1, 2, 4, 8)
    ]


def arguments(shape, config, empty):
    t, h, d = shape["T"], shape["H"], shape["D"]
    return {
        "x_ptr": empty((t, h, d), "bfloat16"), "cos_ptr": empty((t, d // 2), "float32"),
        "sin_ptr": empty((t, d // 2), "float32"), "stride_t": h * d, "stride_h": d, "H": h,
    }  # fmt: skip


def grid(shape, config):
    return (shape["T"], -(-shape["H"] // config["BLOCK_H"]))
