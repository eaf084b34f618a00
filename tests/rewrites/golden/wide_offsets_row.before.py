# rewrite: wide_offsets
# at: row * stride
# facts: x_ptr=*fp16:70000x40000 y_ptr=*fp16:70000x40000 n=40000 stride=40000
# grid: 70000
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(axis=0)
    cols = tl.arange(0, BLOCK)
    offsets = row * stride + cols
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=cols < n), mask=cols < n)
