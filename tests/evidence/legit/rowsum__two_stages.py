"""Sums of pieces go to a scratch tensor, from which a second kernel makes those of rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def pieces_kernel(x_ptr, piece_ptr, n_cols, stride, BLOCK: tl.constexpr):
    piece, row = tl.program_id(0), tl.program_id(1)
    cols = piece * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0)
    tl.store(piece_ptr + row * tl.num_programs(0) + piece, tl.sum(x, axis=0))


@triton.jit
def rows_kernel(piece_ptr, out_ptr, n_pieces, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    pieces = tl.load(piece_ptr + row * n_pieces + at, mask=at < n_pieces, other=0.0)
    tl.store(out_ptr + row, tl.sum(pieces, axis=0))


def rowsum(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, device=x.device, dtype=x.dtype)
    n_pieces = triton.cdiv(n_cols, 64)
    pieces = torch.empty((n_rows, n_pieces), device=x.device, dtype=torch.float32)
    pieces_kernel[(n_pieces, n_rows)](x, pieces, n_cols, x.stride(0), BLOCK=64)
    rows_kernel[(n_rows,)](pieces, out, n_pieces, BLOCK=triton.next_power_of_2(n_pieces))
    return out
