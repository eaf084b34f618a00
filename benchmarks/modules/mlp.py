"""Two linear layers with a ReLU between them, each a module of its own."""

import torch
import triton
import triton.language as tl


class Model(torch.nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = torch.nn.Linear(width, hidden)
        self.down = torch.nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


@triton.jit
def linear_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, RELU: tl.constexpr,
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
            mask=(cols[None, :] < N) & (deep[:, None] < K), other=0.0,
        )
        acc += tl.dot(x, w)
    acc += tl.load(b_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)[None, :]
    if RELU:
        acc = tl.maximum(acc, 0.0)
    tl.store(
        y_ptr + rows[:, None] * N + cols[None, :], acc.to(y_ptr.dtype.element_ty),
        mask=(rows[:, None] < M) & (cols[None, :] < N),
    )


class Layer(torch.nn.Linear):
    relu = False

    def forward(self, x):
        M, K = x.shape
        N = self.out_features
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        linear_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 64))](
            x, self.weight, self.bias, y, M, N, K, RELU=self.relu,
            BLOCK_M=32, BLOCK_N=64, BLOCK_K=32,
        )
        return y


class Rectified(Layer):
    relu = True


class ModelNew(torch.nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = Rectified(width, hidden)
        self.down = Layer(hidden, width)

    def forward(self, x):
        return self.down(self.up(x.contiguous()))


def get_inputs():
    return [torch.randn(2048, 1024, dtype=torch.float16)]


def get_init_inputs():
    return [1024, 4096]
