"""Softmax over the rows of a matrix as four kernels, each of which passes over memory."""

import torch
import triton
import triton.language as tl


def reference(x):
    return torch.softmax(x, dim=-1)


@triton.jit
def row_max_kernel(x_ptr, max_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    highest = tl.full((BLOCK,), float("-inf"), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=float("-inf"))
        highest = tl.maximum(highest, x)
    tl.store(max_ptr + row, tl.max(highest, axis=0))


@triton.jit
def exp_kernel(x_ptr, max_ptr, exp_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0)
    tl.store(exp_ptr + row * cols + at, tl.exp(x - tl.load(max_ptr + row)), mask=at < cols)


@triton.jit
def row_sum_kernel(exp_ptr, sum_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(exp_ptr + row * cols + at, mask=at < cols, other=0.0)
    tl.store(sum_ptr + row, tl.sum(total, axis=0))


@triton.jit
def divide_kernel(exp_ptr, sum_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    e = tl.load(exp_ptr + row * cols + at, mask=at < cols, other=0.0)
    tl.store(out_ptr + row * cols + at, e / tl.load(sum_ptr + row), mask=at < cols)


def softmax(x):
    x = x.contiguous()
    rows, cols = x.shape
    highest = torch.empty((rows,), device=x.device, dtype=torch.float32)
    exps = torch.empty((rows, cols), device=x.device, dtype=torch.float32)
    sums = torch.empty((rows,), device=x.device, dtype=torch.float32)
    out = torch.empty_like(x)
    tiles = triton.cdiv(cols, 1024)
    row_max_kernel[(rows,)](x, highest, cols, BLOCK=1024)
    exp_kernel[(rows, tiles)](x, highest, exps, cols, BLOCK=1024)
    row_sum_kernel[(rows,)](exps, sums, cols, BLOCK=1024)
    divide_kernel[(rows, tiles)](exps, sums, out, cols, BLOCK=1024)
    return out
