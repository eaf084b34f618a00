"""Kernels whose programs can be computed together, some on several ways, and some that cannot."""

import torch
import triton
import triton.language as tl


@triton.jit
def _scaled(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x / tl.sum(x * x, axis=0), mask=at < n)


@triton.jit
def _strided(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        at = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) + tile, mask=at < n)


@triton.jit
def _counted_twice(x_ptr, n, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1.0, mask=at < n)
    if program % 2 == 1:
        tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 10.0, mask=at < n)


@triton.jit
def _from_the_left(x_ptr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    left = tl.load(x_ptr + (program - 1) * BLOCK + at, mask=at < BLOCK * program, other=0.0)
    own = tl.load(x_ptr + program * BLOCK + at)
    tl.store(x_ptr + program * BLOCK + at, left + own)


@triton.jit
def _total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.atomic_add(y_ptr, tl.sum(x, axis=0))


@triton.jit
def _tickets(ticket_ptr, y_ptr):
    ticket = tl.atomic_add(ticket_ptr, 1)
    tl.store(y_ptr + ticket, tl.program_id(0))


def scaled(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    _scaled[(triton.cdiv(len(x), 8),)](x, y, len(x), BLOCK=8)
    return y


def strided(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    _strided[(3,)](x, y, len(x), BLOCK=8)
    return y


def counted_twice(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    _counted_twice[(triton.cdiv(len(x), 8),)](y, len(x), BLOCK=8)
    return y


def from_the_left(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    _from_the_left[(len(x) // 8,)](y, BLOCK=8)
    return y


def total(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros(1, dtype=x.dtype, device=x.device)
    _total[(triton.cdiv(len(x), 8),)](x, y, len(x), BLOCK=8)
    return y


def tickets(x: torch.Tensor) -> torch.Tensor:
    count = torch.zeros(1, dtype=torch.int32, device=x.device)
    y = torch.zeros(len(x), dtype=torch.int32, device=x.device)
    _tickets[(len(x),)](count, y)
    return y
