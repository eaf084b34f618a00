"""Partial products in a buffer, and a second kernel that adds them up."""
import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(
    a_ptr, b_ptr, p_ptr, M, N, K, SPLIT: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    part = tl.program_id(2)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(part * BLOCK_K, K, SPLIT * BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    at = part * M * N + rows[:, None] * N + cols[None, :]
    tl.store(p_ptr + at, acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def add_kernel(p_ptr, c_ptr, size, SPLIT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for part in range(SPLIT):
        total += tl.load(p_ptr + part * size + at, mask=at < size, other=0.0)
    tl.store(c_ptr + at, total, mask=at < size)


def run(a, b):
    M, K = a.shape
    N = b.shape[1]
    partial = torch.empty((4, M, N), device=a.device, dtype=torch.float32)
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32), 4)
    partial_kernel[grid](a, b, partial, M, N, K, SPLIT=4, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16)
    add_kernel[(triton.cdiv(M * N, 256),)](partial, c, M * N, SPLIT=4, BLOCK=256)
    return c
