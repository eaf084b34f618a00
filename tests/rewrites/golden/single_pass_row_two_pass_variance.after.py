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
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
    # One scalar a block.
    mean += tl.sum(x, axis=0) / n

    squares = tl.zeros([BLOCK], dtype=tl.float32)
    d = x - mean
    squares += tl.where(cols < n, d * d, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + 1e-5)

    tl.store(y_ptr + cols, (x - mean) * rstd, mask=cols < n)


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    rows, n = x.shape
    center_kernel[(rows,)](x, y, n, triton.next_power_of_2(n), num_warps=4)
    return y
