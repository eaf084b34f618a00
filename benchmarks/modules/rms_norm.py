"""A residual added, then RMS norm; both come back."""

import torch
import triton
import triton.language as tl


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x, residual):
        total = x + residual
        square = total.float().pow(2).mean(-1, keepdim=True)
        return (total.float() * torch.rsqrt(square + 1e-6)).to(x.dtype) * self.weight, total


@triton.jit
def rms_norm_kernel(x_ptr, r_ptr, w_ptr, y_ptr, t_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < width
        x = tl.load(x_ptr + row + cols, mask=mask, other=0.0)
        r = tl.load(r_ptr + row + cols, mask=mask, other=0.0)
        total = x + r
        tl.store(t_ptr + row + cols, total, mask=mask)
        wide = total.to(tl.float32)
        squares += wide * wide
    scale = 1 / tl.sqrt(tl.sum(squares) / width + 1e-6)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < width
        x = tl.load(x_ptr + row + cols, mask=mask, other=0.0)
        r = tl.load(r_ptr + row + cols, mask=mask, other=0.0)
        w = tl.load(w_ptr + cols, mask=mask, other=0.0)
        y = ((x + r).to(tl.float32) * scale).to(x.dtype) * w
        tl.store(y_ptr + row + cols, y, mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x, residual):
        x, residual = x.contiguous(), residual.contiguous()
        rows, width = x.shape
        y, total = torch.empty_like(x), torch.empty_like(x)
        rms_norm_kernel[(rows,)](x, residual, self.weight, y, total, width, BLOCK=128)
        return y, total


def get_inputs():
    return [torch.randn(16384, 4096, dtype=torch.float16) for _ in range(2)]


def get_init_inputs():
    return [4096]
