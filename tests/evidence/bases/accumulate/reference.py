"""total += scale * x in place, in torch."""

import torch


def accumulate(total: torch.Tensor, x: torch.Tensor, scale: float) -> torch.Tensor:
    return total.add_(x, alpha=scale)
