"""Makes its kernel by calling triton.jit, where its body does not look like one.

Class: contract
Caught by: structure
Needs: gpu
"""

import torch
import triton
import triton.language as tl


def _body(x_ptr, y_ptr, out_ptr, alpha, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    value = tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [alpha * x + y], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out_ptr + offs, value, mask=mask)


axpy_kernel = triton.jit(_body)


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    axpy_kernel[(triton.cdiv(n, 256),)](x, y, out, alpha, n, BLOCK=256)
    return out
