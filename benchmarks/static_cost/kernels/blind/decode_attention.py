"""Attention of one new token: a group of query heads against a part of the cache; fp16.

What a part gives, its sum, its norm and its largest score, is written for another kernel to join.
"""

import triton
import triton.language as tl

SHAPES = (
    {"B": 16, "H": 8, "T": 4096, "D": 128},
    {"B": 64, "H": 4, "T": 2048, "D": 64},
)


@triton.jit
def decode_attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, norm_ptr, top_ptr, scale, stride_head, T,
    GROUP: tl.constexpr, HEAD: tl.constexpr, SPLIT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0)
    part = tl.program_id(1)
    mates = tl.arange(0, GROUP)
    depth = tl.arange(0, HEAD)
    q = tl.load(q_ptr + (head * GROUP + mates)[:, None] * HEAD + depth[None, :])
    span = T // SPLIT
    first = part * span
    top = tl.full((GROUP,), float("-inf"), dtype=tl.float32)
    norm = tl.zeros((GROUP,), dtype=tl.float32)
    total = tl.zeros((GROUP, HEAD), dtype=tl.float32)
    for start in range(0, span, BLOCK):
        tokens = first + start + tl.arange(0, BLOCK)
        at = head * stride_head + tokens * HEAD
        k = tl.load(k_ptr + at[None, :] + depth[:, None])
        scores = tl.dot(q, k) * scale
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.math.exp2(scores - new_top[:, None])
        fade = tl.math.exp2(top - new_top)
        norm = norm * fade + tl.sum(p, 1)
        v = tl.load(v_ptr + at[:, None] + depth[None, :])
        total = tl.dot(p.to(tl.float16), v, total * fade[:, None])
        top = new_top
    row = (head * SPLIT + part) * GROUP + mates
    tl.store(out_ptr + row[:, None] * HEAD + depth[None, :], total)
    tl.store(norm_ptr + row, norm)
    tl.store(top_ptr + row, top)


KERNEL = decode_attention_kernel


def every_config(shape):
    return [
        {
            "GROUP": 16, "HEAD": shape["D"], "SPLIT": split, "BLOCK": block,
            "num_warps": w, "num_stages": s,
        }
        for split in (1, 2, 4, 8, 16)
        for block in (32, 64, 128)
        for w in (2, 4, 8)
        for s in (2, 3, 4)
        if 4 * block * shape["D"] * s <= 200_000 and shape["T"] % (block * split) == 0
    ]  # fmt: skip


def configs(shape):
    return every_config(shape)[::4]


def arguments(shape, config, empty):
    heads = shape["B"] * shape["H"]
    cache = (heads, shape["T"], shape["D"])
    parts = (heads, config["SPLIT"], 16)
    return {
        "q_ptr": empty((heads, 16, shape["D"]), "float16"),
        "k_ptr": empty(cache, "float16"), "v_ptr": empty(cache, "float16"),
        "out_ptr": empty((*parts, shape["D"]), "float32"),
        "norm_ptr": empty(parts, "float32"), "top_ptr": empty(parts, "float32"),
        "scale": 0.18, "stride_head": shape["T"] * shape["D"], "T": shape["T"],
    }  # fmt: skip


def grid(shape, config):
    return (shape["B"] * shape["H"], config["SPLIT"])
