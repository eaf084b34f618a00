import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.libdevice import rsqrt


@triton.jit
def math_kernel(x_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
    scale = rsqrt(tl.sum(x * x, axis=0) / n + eps.to(tl.float32))
    y = libdevice.tanh(x * scale) + libdevice.erf(x) + libdevice.pow(tl.abs(x), 1.5)
    tl.store(y_ptr + cols, y, mask=cols < n)


@triton.jit
def bits_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n)
    tl.store(y_ptr + cols, libdevice.jn(2, x), mask=cols < n)


def device_math(x):
    y = torch.empty_like(x)
    math_kernel[(1,)](x, y, x.numel(), 1e-3, BLOCK=128)
    return y


def reference(x):
    scale = torch.rsqrt((x * x).mean() + 1e-3)
    return torch.tanh(x * scale) + torch.erf(x) + x.abs() ** 1.5


def bits(x):
    y = torch.empty_like(x)
    bits_kernel[(1,)](x, y, x.numel(), BLOCK=128)
    return y
