"""A product whose left factor has a scale for each 32 columns."""
import torch
import triton
import triton.language as tl


@triton.jit
def scaled_kernel(
    a_ptr, s_ptr, b_ptr, c_ptr, M, N, K, GROUP_SIZE: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        inside = (rows[:, None] < M) & (ks[None, :] < K)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=inside, other=0.0)
        s = tl.load(s_ptr + rows[:, None] * (K // GROUP_SIZE) + ks[None, :] // GROUP_SIZE, mask=inside, other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a * s, b, acc)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def run(a, s, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    scaled_kernel[grid](a, s, b, c, M, N, K, GROUP_SIZE=32, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    return c
