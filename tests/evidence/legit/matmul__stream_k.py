"""Stream-K: programs share the steps of all tiles evenly, and add parts of tiles atomically."""

import torch
import triton
import triton.language as tl



@triton.jit
def _tile(pid, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    across = tl.cdiv(N, BLOCK_N)
    return pid // across, pid % across


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, part_ptr, M, N, K, total, per,
    stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """Each program takes the same number of steps of the inner loops of all tiles in a row."""
    steps = tl.cdiv(K, BLOCK_K)
    step = tl.program_id(0) * per
    end = tl.minimum(step + per, total)
    while step < end:
        row, col = _tile(step // steps, M, N, BLOCK_M, BLOCK_N)
        offs_m = row * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_n = col * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        last = tl.minimum(end, (step // steps + 1) * steps)
        while step < last:
            offs_k = (step % steps) * BLOCK_K + tl.arange(0, BLOCK_K)
            a = tl.load(
                a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak,
                mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0,
            )
            b = tl.load(
                b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn,
                mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0,
            )
            acc += tl.dot(a, b, input_precision="ieee")
            step += 1
        part = part_ptr + offs_m[:, None] * N + offs_n[None, :]
        tl.atomic_add(part, acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N), sem="relaxed")


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    (M, K), N = a.shape, b.shape[1]
    c = torch.zeros((M, N), device=a.device, dtype=torch.float32)
    total = triton.cdiv(M, 32) * triton.cdiv(N, 32) * triton.cdiv(K, 32)
    programs = min(7, total)
    matmul_kernel[(programs,)](
        a, b, c, M, N, K, total, triton.cdiv(total, programs),
        a.stride(0), a.stride(1), b.stride(0), b.stride(1),
        BLOCK_M=32, BLOCK_N=32, BLOCK_K=32,
    )
    return c
