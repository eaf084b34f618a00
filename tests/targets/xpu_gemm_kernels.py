"""One matrix product, addressed by pointers and by block pointers.

Newer Tritons than the one for Intel have no block pointers: that one alone compiles this file.
"""

# ruff: noqa: ANN001, ANN201

import triton
import triton.language as tl


@triton.jit
def with_pointers(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a_mask = (rows[:, None] < M) & (inner[None, :] + k < K)
        a = tl.load(a_ptr + rows[:, None] * stride_am + (inner[None, :] + k), a_mask, 0.0)
        b_mask = (inner[:, None] + k < K) & (cols[None, :] < N)
        b = tl.load(b_ptr + (inner[:, None] + k) * stride_bk + cols[None, :], b_mask, 0.0)
        acc = tl.dot(a, b, acc)
    c_mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * stride_cm + cols[None, :], acc, c_mask)


@triton.jit
def with_block_pointers(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    a_tile = tl.make_block_ptr(a_ptr, (M, K), (stride_am, 1), (row, 0), (BLOCK_M, BLOCK_K), (1, 0))
    b_tile = tl.make_block_ptr(b_ptr, (K, N), (stride_bk, 1), (0, col), (BLOCK_K, BLOCK_N), (1, 0))
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        a = tl.load(a_tile, boundary_check=(0, 1))
        b = tl.load(b_tile, boundary_check=(0, 1))
        acc = tl.dot(a, b, acc)
        a_tile = tl.advance(a_tile, (0, BLOCK_K))
        b_tile = tl.advance(b_tile, (BLOCK_K, 0))
    c_tile = tl.make_block_ptr(
        c_ptr, (M, N), (stride_cm, 1), (row, col), (BLOCK_M, BLOCK_N), (1, 0)
    )
    tl.store(c_tile, acc, boundary_check=(0, 1))
