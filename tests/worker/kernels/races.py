"""Kernels whose programs meet in memory, with and without leave."""

import torch
import triton
import triton.language as tl


@triton.jit
def last_wins_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offs)
    tl.store(y_ptr + offs, x)


def last_wins(x):
    y = torch.empty(16, device=x.device)
    last_wins_kernel[(x.numel() // 16,)](x, y, BLOCK=16)
    return y


@triton.jit
def agreeing_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs))


def agreeing(x):
    y = torch.empty(16, device=x.device)
    agreeing_kernel[(4,)](x, y, BLOCK=16)
    return y


@triton.jit
def carried_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    before = tl.load(y_ptr + (pid - 1) * BLOCK + offs, mask=(offs >= 0) & (pid > 0), other=0.0)
    x = tl.load(x_ptr + pid * BLOCK + offs)
    tl.store(y_ptr + pid * BLOCK + offs, x + before)


def carried(x):
    y = torch.empty_like(x)
    carried_kernel[(x.numel() // 16,)](x, y, BLOCK=16)
    return y


@triton.jit
def first_clears_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    if pid == 0:
        tl.store(y_ptr + offs, tl.zeros((BLOCK,), tl.float32))
    tl.atomic_add(y_ptr + offs, tl.load(x_ptr + pid * BLOCK + offs))


def first_clears(x):
    y = torch.empty(16, device=x.device)
    first_clears_kernel[(x.numel() // 16,)](x, y, BLOCK=16)
    return y


@triton.jit
def last_arriver_kernel(x_ptr, part_ptr, count_ptr, y_ptr, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    tl.store(part_ptr + pid, tl.sum(tl.load(x_ptr + pid * BLOCK + offs)))
    arrived = tl.atomic_add(count_ptr, 1)
    if arrived == PARTS - 1:
        parts = tl.load(part_ptr + tl.arange(0, PARTS))
        tl.store(y_ptr, tl.sum(parts))


def last_arriver(x):
    parts = torch.empty(x.numel() // 16, device=x.device)
    count = torch.zeros(1, dtype=torch.int32, device=x.device)
    y = torch.empty(1, device=x.device)
    last_arriver_kernel[(len(parts),)](x, parts, count, y, PARTS=len(parts), BLOCK=16)
    return y


@triton.jit
def relaxed_arriver_kernel(x_ptr, part_ptr, count_ptr, y_ptr, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    tl.store(part_ptr + pid, tl.sum(tl.load(x_ptr + pid * BLOCK + offs)))
    arrived = tl.atomic_add(count_ptr, 1, sem="relaxed")
    if arrived == PARTS - 1:
        parts = tl.load(part_ptr + tl.arange(0, PARTS))
        tl.store(y_ptr, tl.sum(parts))


def relaxed_arriver(x):
    parts = torch.empty(x.numel() // 16, device=x.device)
    count = torch.zeros(1, dtype=torch.int32, device=x.device)
    y = torch.empty(1, device=x.device)
    relaxed_arriver_kernel[(len(parts),)](x, parts, count, y, PARTS=len(parts), BLOCK=16)
    return y


@triton.jit
def twice_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs) * 2)


def twice_in_place(x):
    y = torch.empty_like(x)
    twice_kernel[(4,)](x, y, BLOCK=16)
    twice_kernel[(2,)](y, y, BLOCK=32)
    return y
