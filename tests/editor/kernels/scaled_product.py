"""A product of two matrices, scaled: host code for an Intel GPU."""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled_product_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    scale,
    M,
    N,
    K,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        rows, cols = offs_m[:, None] < M, offs_n[None, :] < N
        inside = offs_k + k < K
        a = tl.load(
            a_ptr + offs_m[:, None] * stride_am + (offs_k + k)[None, :],
            mask=rows & inside[None, :],
            other=0.0,
        )
        b = tl.load(
            b_ptr + (offs_k + k)[:, None] * stride_bk + offs_n[None, :],
            mask=inside[:, None] & cols,
            other=0.0,
        )
        acc += tl.dot(a, b)
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
    tl.store(c_ptrs, acc * scale, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def scaled_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Half of ``a @ b`` in single precision."""
    assert torch.xpu.is_available(), "an Intel GPU is required"
    a, b = a.to("xpu").contiguous(), b.to("xpu").contiguous()
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device="xpu", dtype=torch.float32)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    scaled_product_kernel[grid](
        a, b, c, 0.5, M, N, K, a.stride(0), b.stride(0), c.stride(0),
        BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, num_warps=4, grf_mode="256",
    )  # fmt: skip
    torch.xpu.synchronize()
    return c
