"""Row kernels with autotune, heuristics and library calls; host code of all kinds."""
# ruff: noqa: ANN001, ANN201, ANN202, ANN204, T201

import torch
import triton
import triton.language as tl


@triton.jit
def _shifted(x, by):
    return x - by


@triton.autotune(
    configs=[triton.Config({"ROWS": rows}, num_warps=warps) for rows in (1, 2) for warps in (2, 4)],
    key=["N"],
)
@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["N"])})
@triton.jit
def softmax_kernel(x_ptr, y_ptr, M, N, scale, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    for step in range(ROWS):
        row = tl.program_id(0) * ROWS + step
        mask = (cols < N) & (row < M)
        x = tl.load(x_ptr + row * N + cols, mask=mask, other=-float("inf")) * scale
        e = tl.exp(_shifted(x, tl.max(x, axis=0)))
        tl.store(y_ptr + row * N + cols, e / tl.sum(e, axis=0), mask=mask)


def softmax(x):
    y = torch.empty_like(x)
    M, N = x.shape
    softmax_kernel[lambda meta: (triton.cdiv(M, meta["ROWS"]),)](x, y, M, N, 1.0)
    torch.cuda.synchronize()
    return y


def reference(x):
    return torch.softmax(x, -1)


@triton.jit
def increment_kernel(x_ptr, N, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < N)
    tl.store(x_ptr + offs, x + 1, mask=offs < N)


def increment(x):
    increment_kernel[(triton.cdiv(x.numel(), 128),)](x, x.numel(), BLOCK=128)


def depends_on_data(x):
    if x.sum().item() > 0:
        increment_kernel[(1,)](x, x.numel(), BLOCK=128)
    return x


def asks_the_device(x):
    count = torch.cuda.get_device_properties(x.device).multi_processor_count
    increment_kernel[(count,)](x, x.numel(), BLOCK=128)
    return x


def misaligned(x):
    increment_kernel[(1,)](x[1:], x.numel() - 1, BLOCK=128)
    return x


def forgets_to_store(x):
    return torch.empty_like(x)


class Scaled(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        y = x * self.weight
        increment(y)
        return y, {"mean": y.mean(), "width": y.shape[-1]}


class Renamed(Scaled):
    def __init__(self, width):
        torch.nn.Module.__init__(self)
        self.gain = torch.nn.Parameter(torch.randn(width))

    @property
    def weight(self):
        return self.gain


class Wider(Scaled):
    def __init__(self, width):
        super().__init__(width + 1)
