"""Each program takes as many ids as divide their number evenly."""

import torch
import triton
import triton.language as tl



@triton.jit
def embedding_kernel(ids_ptr, table_ptr, out_ptr, width, WIDTH: tl.constexpr, IDS: tl.constexpr):
    cols = tl.arange(0, WIDTH)
    for at in tl.static_range(IDS):
        place = tl.program_id(0) * IDS + at
        row = tl.load(ids_ptr + place)
        value = tl.load(table_ptr + row * width + cols, mask=cols < width)
        tl.store(out_ptr + place * width + cols, value, mask=cols < width)


def embedding(ids: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    ids, table = ids.contiguous(), table.contiguous()
    count, width = ids.numel(), table.shape[1]
    out = torch.empty((count, width), device=table.device, dtype=table.dtype)
    each = next_divisor(count)
    block = triton.next_power_of_2(width)
    embedding_kernel[(count // each,)](ids, table, out, width, WIDTH=block, IDS=each)
    return out


def next_divisor(count: int) -> int:
    for each in (4, 2):
        if count % each == 0:
            return each
    return 1
