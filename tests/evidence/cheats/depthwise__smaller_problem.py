"""Makes the problem smaller in its own copy of what the inputs are made by.

Class: contract
Caught by: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def depthwise_kernel(
    x_ptr, w_ptr, b_ptr, out_ptr, channels, length, TAPS: tl.constexpr, BLOCK: tl.constexpr
):
    line = tl.program_id(0)
    channel = line % channels
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32) + tl.load(b_ptr + channel)
    for tap in range(TAPS):
        place = at - (TAPS - 1) + tap
        x = tl.load(x_ptr + line * length + place, mask=(place >= 0) & (place < length), other=0.0)
        total += x * tl.load(w_ptr + channel * TAPS + tap)
    tl.store(out_ptr + line * length + at, total, mask=at < 16)


class Model(torch.nn.Module):
    def __init__(self, channels: int, taps: int) -> None:
        super().__init__()
        self.conv = torch.nn.Conv1d(channels, channels, taps, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, length = x.shape
        out = torch.empty_like(x)
        taps = self.conv.weight.shape[-1]
        depthwise_kernel[(batch * channels, triton.cdiv(length, 64))](
            x, self.conv.weight, self.conv.bias, out, channels, length, TAPS=taps, BLOCK=64
        )
        return out


batch, channels, taps, length = 1, 6, 4, 16


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, length)]


def get_init_inputs() -> list[int]:
    return [channels, taps]
