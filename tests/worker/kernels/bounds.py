"""Kernels whose stores and loads tests push over an edge; host code that looks at memory."""
# ruff: noqa: ANN001, ANN201, ANN204

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    read = offs < N
    write = offs < N
    y_offs = offs
    tl.store(y_ptr + y_offs, tl.load(x_ptr + offs, mask=read), mask=write)


def copy(x):
    y = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y


def copy_into_a_temporary(x):
    copy_kernel[(triton.cdiv(x.numel(), 128),)](x, torch.empty_like(x), x.numel(), BLOCK=128)
    return x + 1


def copy_back(x):
    y = x.clone()
    copy_kernel[(triton.cdiv(x.numel(), 128),)](y, x, x.numel(), BLOCK=128)


@triton.jit
def row_sum_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * N + cols, mask=cols < N, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x, axis=0))


def row_sum(x):
    y = torch.empty(x.shape[0], device=x.device)
    row_sum_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


@triton.jit
def last_program_kernel(y_ptr):
    place = tl.program_id(0) * 4 + tl.program_id(1)
    tl.store(y_ptr + 0 * place, place)


def last_program(x):
    y = torch.empty(1, device=x.device, dtype=torch.int32)
    last_program_kernel[(3, 4)](y)
    return y


class Weighted(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
        self.register_buffer("seen", torch.zeros(width))

    def forward(self, x):
        copy_kernel[(1,)](self.weight, self.seen, self.weight.numel(), BLOCK=128)
        return x * self.seen


def looks_at_memory(x):
    """Views, strides and copies of all kinds; what they show must not depend on the bands."""
    y = torch.empty((6, 8), device=x.device).copy_(x.reshape(6, 8))
    z = y.t()[2:, ::2].contiguous() + y.view(-1)[:24].reshape(6, 4).new_full((), 2.0)
    window = torch.as_strided(y, (3, 4), (8, 1), 0) + y.as_strided((3, 4), (8, 1), 2)
    later = torch.as_strided(y[1], (4,), (1,), y[1].storage_offset())
    bits = y.view(torch.int16).sum()
    wide = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
    strides = torch.tensor([*wide.stride(), *torch.empty_strided((3, 2), (1, 5)).stride()])
    grown = torch.ones(4).resize_(2, 60).fill_(1).numpy().sum()
    return z, window, later, bits, strides, float(grown), y.data_ptr() % 16


def allocates_in_a_loop(x):
    for _ in range(200):
        x = x + torch.zeros(1 << 20)[: len(x)]
    return x
