"""Kernels that load before anything is written, and kernels that store into their input."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)


@triton.jit
def refresh_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    there = tl.load(y_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x, mask=(offs < n) & (x != there))


def refreshed(x):
    y = torch.empty_like(x)
    refresh_kernel[(2,)](x, y, 24, BLOCK=16)
    y[24:] = 0
    return y


def refreshed_copy(x):
    y = torch.empty_like(x).clone()
    refresh_kernel[(2,)](x, y, 32, BLOCK=16)
    return y


def refreshed_leaf(x):
    y = torch.empty_like(x, requires_grad=True)
    refresh_kernel[(2,)](x, y, 32, BLOCK=16)
    return y.detach()


def refreshed_temporaries(x):
    total = torch.zeros_like(x)
    for _ in range(4):
        part = torch.empty_like(x)
        refresh_kernel[(2,)](x, part, 32, BLOCK=16)
        total += part
        del part
    return total


def refreshed_whole_numbers(x):
    y = torch.empty(32, dtype=torch.int32)
    refresh_kernel[(2,)](x.to(torch.int32), y, 32, BLOCK=16)
    return y


@triton.jit
def add_nothing_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    there = tl.atomic_add(y_ptr + offs, 0.0)
    x = tl.load(x_ptr + offs)
    tl.store(y_ptr + offs, x, mask=there != x)


def read_by_adding_nothing(x):
    y = torch.empty_like(x)
    add_nothing_kernel[(1,)](x, y, BLOCK=32)
    return y


@triton.jit
def exchange_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.atomic_xchg(y_ptr + offs, tl.load(x_ptr + offs))


def exchanged(x):
    y = torch.empty(32, dtype=torch.int32)
    exchange_kernel[(1,)](x.to(torch.int32), y, BLOCK=32)
    return y


def through_scratch(x):
    scratch, y = torch.empty_like(x), torch.empty_like(x)
    copy_kernel[(2,)](x, scratch, 32, BLOCK=16)
    copy_kernel[(2,)](scratch, y, 32, BLOCK=16)
    return y


def by_operators(x):
    levels, y = torch.empty(32, dtype=torch.int32), torch.empty(32, dtype=torch.int32)
    torch.arange(24290, 24290 + 32, out=levels)
    y.copy_(levels)
    refresh_kernel[(2,)](x.to(torch.int32), y, 32, BLOCK=16)
    return y


@triton.jit
def padded_kernel(x_ptr, scratch_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(scratch_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)
    padded = tl.load(scratch_ptr + offs)
    tl.store(y_ptr + offs, tl.where(offs < n, padded, 0.0))


def padded(x):
    scratch, y = torch.empty(32), torch.empty(32)
    padded_kernel[(1,)](x, scratch, y, 24, BLOCK=32)
    return y


@triton.jit
def swap_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + offs), tl.load(y_ptr + offs)
    tl.store(x_ptr + offs, y)
    tl.store(y_ptr + offs, x)


def borrowed(x):
    y = torch.zeros_like(x)
    swap_kernel[(1,)](x, y, BLOCK=32)
    swap_kernel[(1,)](x, y, BLOCK=32)
    return x * 2


@triton.jit
def count_kernel(x_ptr, by, BLOCK: tl.constexpr):
    tl.atomic_add(x_ptr + tl.arange(0, BLOCK), by)


def counted_and_back(x):
    count_kernel[(1,)](x, 1.0, BLOCK=32)
    count_kernel[(1,)](x, -1.0, BLOCK=32)
    return x * 2


def the_same_again(x):
    copy_kernel[(2,)](x, x, 32, BLOCK=16)
    return x * 2


@triton.jit
def written_first_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, offs.to(tl.float32))
    tl.store(y_ptr + offs, tl.load(x_ptr + offs))


def written_first(x):
    y = torch.empty_like(x)
    written_first_kernel[(1,)](x, y, BLOCK=32)
    return y
