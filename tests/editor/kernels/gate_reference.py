"""The gate in torch."""

import torch


def gate(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x)
