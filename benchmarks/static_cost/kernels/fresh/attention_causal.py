"""Causal flash attention forward, bf16; the programs of later rows have more turns."""

import triton
import triton.language as tl

SHAPES = ({"B": 4, "H": 16, "T": 1024, "D": 64}, {"B": 1, "H": 16, "T": 4096, "D": 128})


@triton.jit
def attention_causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, factor, T,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    base = tl.program_id(1) * T * HEAD
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    depth = tl.arange(0, HEAD)
    q = tl.load(q_ptr + base + rows[:, None] * HEAD + depth[None, :])
    top = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    norm = tl.zeros((BLOCK_M,), dtype=tl.float32)
    total = tl.zeros((BLOCK_M, HEAD), dtype=tl.float32)
    for start in range(0, (block + 1) * BLOCK_M, BLOCK_N):
        at = start + columns
        k = tl.load(k_ptr + base + at[None, :] * HEAD + depth[:, None])
        scores = tl.dot(q, k) * factor
        scores = tl.where(rows[:, None] >= at[None, :], scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.math.exp2(scores - new_top[:, None])
        fade = tl.math.exp2(top - new_top)
        v = tl.load(v_ptr + base + at[:, None] * HEAD + depth[None, :])
        total = tl.dot(p.to(tl.bfloat16), v, total * fade[:, None])
        norm = norm * fade + tl.sum(p, 1)
        top = new_top
    out = o_ptr + base + rows[:, None] * HEAD + depth[None, :]
    tl.store(out, (total / norm[:, None]).to(tl.bfloat16))


KERNEL = attention_causal_kernel


def every_config(shape):
    return [
        {"HEAD": shape["D"], "BLOCK_M": m, "BLOCK_N": n, "num_warps": w, "num_stages": s}
        for m in (64, 128)
        for n in (32, 64, 128)
        for w in (4, 8)
        for s in (1, 2, 3, 4)
        if n <= m and 4 * n * shape["D"] * s < 200_000
    ]


def configs(shape):
    return every_config(shape)[::2]


def arguments(shape, config, empty):
    size = (shape["B"], shape["H"], shape["T"], shape["D"])
    return {
        "q_ptr": empty(size, "bfloat16"), "k_ptr": empty(size, "bfloat16"),
        "v_ptr": empty(size, "bfloat16"), "o_ptr": empty(size, "bfloat16"),
        "factor": 0.18, "T": shape["T"],
    }  # fmt: skip


def grid(shape, config):
    return (shape["T"] // config["BLOCK_M"], shape["B"] * shape["H"])
