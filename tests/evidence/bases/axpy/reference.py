"""alpha * x + y, in torch."""

import torch


def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    return torch.add(y, x, alpha=alpha)
