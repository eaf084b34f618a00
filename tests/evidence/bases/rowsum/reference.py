"""The sum over the last dimension, in torch."""

import torch


def rowsum(x: torch.Tensor) -> torch.Tensor:
    return x.sum(dim=-1)
