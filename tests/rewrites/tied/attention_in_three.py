"""Scores, softmax and values in three kernels; two grids have a tile size as a literal."""
import torch
import triton
import triton.language as tl


@triton.jit
def scores_kernel(q_ptr, k_ptr, s_ptr, T, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    dims = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + dims[None, :], mask=rows[:, None] < T, other=0.0)
    k = tl.load(k_ptr + cols[:, None] * D + dims[None, :], mask=cols[:, None] < T, other=0.0)
    s = tl.dot(q, tl.trans(k))
    inside = (rows[:, None] < T) & (cols[None, :] < T)
    tl.store(s_ptr + rows[:, None] * T + cols[None, :], s, mask=inside)


@triton.jit
def softmax_kernel(s_ptr, T, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    most = tl.full((), -float("inf"), tl.float32)
    for start in range(0, T, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        s = tl.load(s_ptr + row * T + cols, mask=cols < T, other=-float("inf"))
        most = tl.maximum(most, tl.max(s, axis=0))
    total = tl.full((), 0.0, tl.float32)
    for start in range(0, T, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        s = tl.load(s_ptr + row * T + cols, mask=cols < T, other=-float("inf"))
        total += tl.sum(tl.exp(s - most), axis=0)
    for start in range(0, T, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        s = tl.load(s_ptr + row * T + cols, mask=cols < T, other=-float("inf"))
        tl.store(s_ptr + row * T + cols, tl.exp(s - most) / total, mask=cols < T)


@triton.jit
def values_kernel(s_ptr, v_ptr, o_ptr, T, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, D)
    acc = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    for start in range(0, T, BLOCK_K):
        keys = start + tl.arange(0, BLOCK_K)
        inside = (rows[:, None] < T) & (keys[None, :] < T)
        s = tl.load(s_ptr + rows[:, None] * T + keys[None, :], mask=inside, other=0.0)
        v = tl.load(v_ptr + keys[:, None] * D + dims[None, :], mask=keys[:, None] < T, other=0.0)
        acc = tl.dot(s, v, acc)
    tl.store(o_ptr + rows[:, None] * D + dims[None, :], acc, mask=rows[:, None] < T)


def run(q, k, v):
    T, D = q.shape
    s = torch.empty((T, T), device=q.device, dtype=torch.float32)
    o = torch.empty_like(q)
    scores_kernel[(triton.cdiv(T, 32), triton.cdiv(T, 32))](q, k, s, T, D=16, BLOCK_M=32, BLOCK_N=32)
    softmax_kernel[(T,)](s, T, BLOCK=64)
    values_kernel[((T + 31) // 32,)](s, v, o, T, D=16, BLOCK_M=32, BLOCK_K=32)
    return o
