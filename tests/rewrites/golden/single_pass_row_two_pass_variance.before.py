# rewrite: single_pass_row
# at: for i in range(tl.cdiv(n, BLOCK))
# facts: x_ptr=*fp32 y_ptr=*fp32 n=700
import torch
import triton
import triton.language as tl


@triton.jit
def center_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * n
    y_ptr += row * n
    mean = 0.0
    for i in range(tl.cdiv(n, BLOCK)):
        cols = i * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
        # One scalar a block.
        mean += tl.sum(x, axis=0) / n

    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(tl.cdiv(n, BLOCK)):
        cols = i * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
        d = x - mean
        squares += d * d
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + 1e-5)

    for i in range(tl.cdiv(n, BLOCK)):
        cols = i * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
        tl.store(y_ptr + cols, (x - mean) * rstd, mask=cols < n)


def run(x: torch.Tensor) -> torch.Tensor:
    BLOCK = 128
    y = torch.empty_like(x)
    rows, n = x.shape
    center_kernel[(rows,)](x, y, n, BLOCK, num_warps=2)
    return y
