"""Attention as three kernels: all scores in memory, softmax over their rows, products with values."""

import torch
import triton
import triton.language as tl


def reference(q, k, v):
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    return torch.softmax(scores, dim=-1) @ v


@triton.jit
def score_kernel(
    q_ptr, k_ptr, s_ptr, length, scale,
    DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    head = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    keys = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    dims = tl.arange(0, DIM)
    base = head * length * DIM
    q = tl.load(
        q_ptr + base + rows[:, None] * DIM + dims[None, :], mask=rows[:, None] < length, other=0.0
    )
    k = tl.load(
        k_ptr + base + keys[:, None] * DIM + dims[None, :], mask=keys[:, None] < length, other=0.0
    )
    tl.store(
        s_ptr + head * length * length + rows[:, None] * length + keys[None, :],
        tl.dot(q, tl.trans(k)) * scale,
        mask=(rows[:, None] < length) & (keys[None, :] < length),
    )


@triton.jit
def softmax_kernel(s_ptr, length, BLOCK: tl.constexpr):
    row = s_ptr + tl.program_id(0).to(tl.int64) * length
    at = tl.arange(0, BLOCK)
    s = tl.load(row + at, mask=at < length, other=float("-inf"))
    e = tl.exp(s - tl.max(s, axis=0))
    tl.store(row + at, e / tl.sum(e, axis=0), mask=at < length)


@triton.jit
def value_kernel(
    p_ptr, v_ptr, y_ptr, length,
    DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, DIM)
    base = head * length * DIM
    acc = tl.zeros((BLOCK_M, DIM), dtype=tl.float32)
    for start in range(0, length, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        p = tl.load(
            p_ptr + head * length * length + rows[:, None] * length + keys[None, :],
            mask=(rows[:, None] < length) & (keys[None, :] < length), other=0.0,
        )
        v = tl.load(
            v_ptr + base + keys[:, None] * DIM + dims[None, :],
            mask=keys[:, None] < length, other=0.0,
        )
        acc += tl.dot(p.to(v.dtype), v)
    tl.store(
        y_ptr + base + rows[:, None] * DIM + dims[None, :], acc.to(y_ptr.dtype.element_ty),
        mask=rows[:, None] < length,
    )


def attention(q, k, v):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    batch, heads, length, dim = q.shape
    scores = torch.empty((batch * heads, length, length), device=q.device, dtype=torch.float32)
    y = torch.empty_like(q)
    tiles = triton.cdiv(length, 32)
    score_kernel[(tiles, tiles, batch * heads)](
        q, k, scores, length, dim**-0.5, DIM=dim, BLOCK_M=32, BLOCK_N=32
    )
    softmax_kernel[(batch * heads * length,)](
        scores, length, BLOCK=triton.next_power_of_2(length)
    )
    value_kernel[(tiles, batch * heads)](
        scores, v, y, length, DIM=dim, BLOCK_M=32, BLOCK_N=32
    )
    return y
