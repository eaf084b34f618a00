"""A product with int8 weights, dequantized by a scale for each output channel."""

import torch
import triton
import triton.language as tl


class Model(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        weight = torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8)
        self.register_buffer("weight", weight)
        self.scale = torch.nn.Parameter(torch.rand(out_features) * 0.01 + 0.001)

    def forward(self, x):
        return x @ (self.weight.to(x.dtype) * self.scale[:, None]).T


@triton.jit
def int8_gemm_kernel(
    x_ptr, w_ptr, scale_ptr, y_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        deep = k + tl.arange(0, BLOCK_K)
        x = tl.load(
            x_ptr + rows[:, None] * K + deep[None, :],
            mask=(rows[:, None] < M) & (deep[None, :] < K), other=0.0,
        )
        w = tl.load(
            w_ptr + cols[None, :] * K + deep[:, None],
            mask=(cols[None, :] < N) & (deep[:, None] < K), other=0,
        )
        acc += tl.dot(x, w.to(x.dtype))
    scale = tl.load(scale_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    tl.store(
        y_ptr + rows[:, None] * N + cols[None, :],
        (acc * scale[None, :]).to(y_ptr.dtype.element_ty),
        mask=(rows[:, None] < M) & (cols[None, :] < N),
    )


class ModelNew(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        weight = torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8)
        self.register_buffer("weight", weight)
        self.scale = torch.nn.Parameter(torch.rand(out_features) * 0.01 + 0.001)

    def forward(self, x):
        x = x.contiguous()
        M, K = x.shape
        N = self.weight.shape[0]
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
        int8_gemm_kernel[grid](
            x, self.weight, self.scale, y, M, N, K, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32
        )
        return y


def get_inputs():
    return [torch.randn(2048, 2048, dtype=torch.float16)]


def get_init_inputs():
    return [2048, 4096]
