# rewrite: hoist_load
# at: w_ptr + places
# facts: x_ptr=*fp32 n=300
import torch
import triton
import triton.language as tl


@triton.jit
def weigh_kernel(x_ptr, w_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    # Rows are many, columns few.
    places = cols + 0
    w = tl.load(
        w_ptr + places,
        mask=places < n,
        other=0.0,
    )  # the same in every turn
    for row in range(0, rows):
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        total += x * w
    tl.store(y_ptr + cols, total, mask=cols < n)


def run(x: torch.Tensor) -> torch.Tensor:
    rows, n = x.shape
    w = torch.arange(n, dtype=torch.float32, device=x.device)
    y = torch.empty(n, device=x.device)
    weigh_kernel[(triton.cdiv(n, 64),)](x, w, y, rows, n, BLOCK=64)
    return y
