# rewrite: hoist_load
# at: w_ptr + cols
# facts: x_ptr=*fp32 rows=300 n=64
import torch
import triton
import triton.language as tl


@triton.jit
def weigh_kernel(x_ptr, w_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for row in range(rows):
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        w = tl.load(w_ptr + cols, mask=cols < n, other=0.0)
        tl.store(y_ptr + row * n + cols, x * w, mask=cols < n)


def run(x: torch.Tensor) -> torch.Tensor:
    rows, n = x.shape
    w = torch.arange(n, dtype=torch.float32, device=x.device)
    y = torch.empty_like(x)
    weigh_kernel[(triton.cdiv(n, 64),)](x, w, y, rows, n, BLOCK=64)
    return y
