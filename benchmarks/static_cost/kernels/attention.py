"""Flash attention forward, fp16, not causal; one program a block of queries and head."""

import triton
import triton.language as tl

SHAPES = (
    {"B": 2, "H": 8, "T": 512, "D": 64},
    {"B": 4, "H": 16, "T": 2048, "D": 64},
    {"B": 2, "H": 16, "T": 2048, "D": 128},
)


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    scale,
    stride_bh,
    stride_t,
    T,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    head = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    depth = tl.arange(0, HEAD)
    q = tl.load(q_ptr + head * stride_bh + rows[:, None] * stride_t + depth[None, :])
    k_base = k_ptr + head * stride_bh
    v_base = v_ptr + head * stride_bh
    top = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    norm = tl.zeros((BLOCK_M,), dtype=tl.float32)
    total = tl.zeros((BLOCK_M, HEAD), dtype=tl.float32)
    factor = scale * 1.44269504
    for start in range(0, T, BLOCK_N):
        k = tl.load(k_base + (start + columns)[None, :] * stride_t + depth[:, None])
        scores = tl.dot(q, k) * factor
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.math.exp2(scores - new_top[:, None])
        fade = tl.math.exp2(top - new_top)
        norm = norm * fade + tl.sum(p, 1)
        total = total * fade[:, None]
        v = tl.load(v_base + (start + columns)[:, None] * stride_t + depth[None, :])
        total = tl.dot(p.to(tl.float16), v, total)
        top = new_top
    total = total / norm[:, None]
    out = o_ptr + head * stride_bh + rows[:, None] * stride_t + depth[None, :]
    tl.store(out, total.to(tl.float16))


KERNEL = attention_kernel


def every_config(shape):
    return [
        {"HEAD": shape["D"], "BLOCK_M": m, "BLOCK_N": n, "num_warps": w, "num_stages": s}
        for m in (32, 64, 128)
        for n in (32, 64, 128)
        for w in (4, 8)
        for s in (1, 2, 3, 4)
    ]


def configs(shape):
    return every_config(shape)[::3]


def arguments(shape, config, empty):
    size = (shape["B"], shape["H"], shape["T"], shape["D"])
    return {
        "q_ptr": empty(size, "float16"), "k_ptr": empty(size, "float16"),
        "v_ptr": empty(size, "float16"), "o_ptr": empty(size, "float16"),
        "scale": 0.125, "stride_bh": shape["T"] * shape["D"], "stride_t": shape["D"],
        "T": shape["T"],
    }  # fmt: skip


def grid(shape, config):
    return (shape["T"] // config["BLOCK_M"], shape["B"] * shape["H"])
