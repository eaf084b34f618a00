# rewrite: move_mask
# at: tl.load(a_ptrs, mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * K + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * N + cols[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (inner[None, :] < K - k * BK), other=0.0)
        b = tl.load(b_ptrs, mask=(inner[:, None] < K - k * BK) & (cols[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BK
        b_ptrs += BK * N
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=inside)


def product(a, b):
    c = torch.empty(a.shape[0], b.shape[1], device=a.device)
    grid = (triton.cdiv(a.shape[0], 32), triton.cdiv(b.shape[1], 32))
    product_kernel[grid](a, b, c, a.shape[0], b.shape[1], a.shape[1], BM=32, BN=32, BK=32)
    return c
