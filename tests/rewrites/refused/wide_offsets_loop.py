# rewrite: wide_offsets
# at: tile * stride
# refuses: bounds a loop
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, tiles, stride, BLOCK: tl.constexpr):
    first = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    for tile in range(first, tiles, 128):
        offsets = tile * stride + cols
        tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=cols < n), mask=cols < n)
