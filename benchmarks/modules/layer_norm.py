"""Layer norm over the last dimension, with a weight and a bias."""

import torch
import triton
import triton.language as tl


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x)


@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row + cols, mask=cols < width, other=0.0).to(tl.float32)
    mean = tl.sum(total) / width
    spread = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + cols, mask=cols < width, other=0.0).to(tl.float32)
        off = tl.where(cols < width, x - mean, 0.0)
        spread += off * off
    scale = 1 / tl.sqrt(tl.sum(spread) / width + eps)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < width
        x = tl.load(x_ptr + row + cols, mask=mask, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        y = (x - mean) * scale * w + b
        tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, x):
        x = x.contiguous()
        rows, width = x.shape
        y = torch.empty_like(x)
        layer_norm_kernel[(rows,)](
            x, self.norm.weight, self.norm.bias, y, width, self.norm.eps, BLOCK=128
        )
        return y


def get_inputs():
    return [torch.randn(8192, 4096)]


def get_init_inputs():
    return [4096]
