"""A product whose programs are taken in groups: tiles and groups are free."""
import torch
import triton
import triton.language as tl


@triton.jit
def grouped_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * tiles_n
    first = (pid // in_group) * GROUP_M
    size = min(tiles_m - first, GROUP_M)
    pid_m = first + (pid % in_group) % size
    pid_n = (pid % in_group) // size
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - k * BLOCK_K
        a = tl.load(a_ptr + rows[:, None] * K + (k * BLOCK_K + ks)[None, :], mask=(rows[:, None] < M) & (ks[None, :] < left), other=0.0)
        b = tl.load(b_ptr + (k * BLOCK_K + ks)[:, None] * N + cols[None, :], mask=(ks[:, None] < left) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def run(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    grid = (triton.cdiv(M, 32) * triton.cdiv(N, 16),)
    grouped_kernel[grid](a, b, c, M, N, K, BLOCK_M=32, BLOCK_N=16, BLOCK_K=32, GROUP_M=2)
    return c
