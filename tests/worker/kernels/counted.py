"""Host code that reads what its first kernel counted before it launches the next."""

import torch
import triton
import triton.language as tl


@triton.jit
def count_kernel(x_ptr, counts_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0)
    tl.store(counts_ptr + row, tl.sum((x > 0).to(tl.int32), axis=0))


@triton.jit
def compact_kernel(x_ptr, starts_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0)
    kept = x > 0
    place = tl.cumsum(kept.to(tl.int32), axis=0) - 1
    start = tl.load(starts_ptr + row)
    tl.store(out_ptr + start + place, x, mask=kept)


def positive(x):
    """The positive elements, one row after the other."""
    rows, cols = x.shape
    counts = torch.empty(rows, device=x.device, dtype=torch.int32)
    count_kernel[(rows,)](x, counts, cols, BLOCK=triton.next_power_of_2(cols))
    if int(counts.sum()) > x.numel():
        raise ValueError("more elements were counted than there are")
    starts = (counts.cumsum(0) - counts).to(torch.int32)
    out = torch.empty(int(counts.sum()), device=x.device, dtype=x.dtype)
    compact_kernel[(rows,)](x, starts, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
