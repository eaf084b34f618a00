"""Kernels that ``timing_trust.py`` compares: short and long, bound by memory and by arithmetic.

``STEPS`` is set by whoever imports this: how often the loops of ``work`` and ``stream`` turn. More
of it takes longer and gives the same result.
"""

import torch
import triton
import triton.language as tl

STEPS = 1000


@triton.jit
def _axpy_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, at < n)
    y = tl.load(y_ptr + at, at < n)
    tl.store(out_ptr + at, 2.0 * x + y, at < n)


def axpy(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    _axpy_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return out


@triton.jit
def _softmax_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    x = tl.load(x_ptr + row + at, at < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row + at, (e / tl.sum(e, 0)).to(out_ptr.dtype.element_ty), at < columns)


def softmax(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    _softmax_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=block, num_warps=8)
    return out


@triton.jit
def _matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        a = tl.load(a_ptr + rows[:, None] * k + start + depth[None, :])
        b = tl.load(b_ptr + (start + depth)[:, None] * n + columns[None, :])
        sums = tl.dot(a, b, sums)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], sums.to(c_ptr.dtype.element_ty))


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (m // 128, n // 128)
    _matmul_kernel[grid](a, b, c, m, n, k, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)
    return c


@triton.jit
def _scale_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, at < n) * 0.5, at < n)


def scale_in_place(x: torch.Tensor) -> torch.Tensor:
    _scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, x.numel(), BLOCK=1024)
    return x


@triton.jit
def _work_kernel(x_ptr, factor_ptr, out_ptr, steps, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    one, zero = tl.load(factor_ptr), tl.load(factor_ptr + 1)
    for _ in range(steps):
        x = x * one + zero
    tl.store(out_ptr + at, x)


def work(x: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    _work_kernel[(x.numel() // 512,)](x, factors, out, STEPS, BLOCK=512)
    return out


@triton.jit
def _stream_kernel(x_ptr, out_ptr, steps, row, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * row
    at = tl.arange(0, BLOCK)
    least = tl.full((BLOCK,), float("inf"), tl.float32)
    for step in range(steps):
        least = tl.minimum(least, tl.load(x_ptr + first + step * BLOCK + at))
    tl.store(out_ptr + tl.program_id(0) * BLOCK + at, (least > -1e30).to(tl.float32))


def stream(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty((x.shape[0], 1024), dtype=x.dtype, device=x.device)
    _stream_kernel[(x.shape[0],)](x, out, STEPS, x.shape[1], BLOCK=1024)
    return out


def on_host(x: torch.Tensor) -> torch.Tensor:
    """For trying the benchmark out where there is no GPU."""
    for _ in range(STEPS // 100):
        x = x * 1.0 + 0.0
    return x
