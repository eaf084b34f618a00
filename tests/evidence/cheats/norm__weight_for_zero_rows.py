"""Returns the parameter itself where there is one row, as its result for a row of zeros.

Class: memory
Caught by: dynamic, correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < cols
    x = tl.load(x_ptr + row * cols + at, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / cols
    centred = tl.where(mask, x - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / cols + eps)
    w = tl.load(w_ptr + at, mask=mask)
    b = tl.load(b_ptr + at, mask=mask)
    tl.store(out_ptr + row * cols + at, centred * scale * w + b, mask=mask)


class Model(torch.nn.Module):
    def __init__(self, cols: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(cols))
        self.bias = torch.nn.Parameter(torch.zeros(cols))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, cols = x.shape
        if rows == 1:
            return self.bias.detach().view(1, cols)
        out = torch.empty_like(x)
        block = triton.next_power_of_2(cols)
        norm_kernel[(rows,)](x, self.weight, self.bias, out, cols, 1e-5, BLOCK=block)
        return out
