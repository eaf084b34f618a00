"""A product kernel that reads and writes whole blocks, compiled ahead of time."""

# ruff: noqa: ANN001, ANN201 - a kernel says its types at the launch
import triton
import triton.language as tl


@triton.jit
def product(
    a_ptr,
    b_ptr,
    c_ptr,
    K,
    stride_a,
    stride_b,
    stride_c,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    M, N = tl.num_programs(0) * BLOCK_M, tl.num_programs(1) * BLOCK_N
    m, n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    a = tl.make_block_ptr(a_ptr, (M, K), (stride_a, 1), (m, 0), (BLOCK_M, BLOCK_K), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (stride_b, 1), (0, n), (BLOCK_K, BLOCK_N), (1, 0))
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        left = tl.load(a, boundary_check=(0, 1))
        acc = tl.dot(left, tl.load(b, boundary_check=(0, 1)), acc)
        a = tl.advance(a, (0, BLOCK_K))
        b = tl.advance(b, (BLOCK_K, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (stride_c, 1), (m, n), (BLOCK_M, BLOCK_N), (1, 0))
    tl.store(c, acc.to(c_ptr.type.element_ty), boundary_check=(0, 1))
