# rewrite: wait_by_atomic
# at: tl.load(turn_ptr)
import torch
import triton
import triton.language as tl


@triton.jit
def running_sum_kernel(x_ptr, y_ptr, total_ptr, turn_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    while tl.load(turn_ptr) < pid:
        pass
    before = tl.load(total_ptr)
    tl.store(total_ptr, before + tl.sum(x))
    tl.debug_barrier()
    tl.atomic_add(turn_ptr, 1)
    tl.store(y_ptr + at, before + tl.cumsum(x), mask=at < n)


def running_sum(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    total = torch.zeros(1, device=x.device)
    turn = torch.zeros(1, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(x.numel(), 256),)
    running_sum_kernel[grid](x, y, total, turn, x.numel(), BLOCK=256)
    return y
