"""What is made small where the estimate's constants are fitted."""

from __future__ import annotations

import torch

_NEAR, _SHARPNESS, _TRUTH, _BIAS, _NEVER = 0.1, 0.02, 0.01, 0.4, 1e6
_SPREAD, _ORDER, _PLACE, _PLACED = 0.3, 0.02, 0.1, 0.02
_WORSE, _WORSE_WIDTH = 0.015, 0.005


def group_losses(found: torch.Tensor, measured: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """What each group adds: rows are groups, and ``real`` are the points that they have."""
    behind = (measured - measured.min(1, keepdim=True).values).masked_fill(~real, _NEVER)
    weights = torch.softmax(-behind / _NEAR, 1)
    over = found - measured
    mean = (weights * over).sum(1, keepdim=True)
    spread = (weights * torch.sqrt((over - mean) ** 2 + 1e-4)).sum(1) + _BIAS * mean[:, 0].abs()
    truth = torch.softmax(-behind / _TRUTH, 1)
    orders = torch.log_softmax(-found.masked_fill(~real, _NEVER) / _SHARPNESS, 1)
    entropy = -(truth * torch.log(truth.clamp(min=1e-30))).sum(1)
    order = -(truth * orders.masked_fill(~real, 0.0)).sum(1) - entropy
    best = (truth * found.masked_fill(~real, 0.0)).sum(1, keepdim=True)
    worse = torch.sigmoid((behind - _WORSE) / _WORSE_WIDTH) * real
    before = (worse * torch.sigmoid((best - found) / _PLACED)).sum(1)
    place = torch.log1p(before / (real.sum(1) / 10))
    return _SPREAD * spread + _ORDER * order + _PLACE * place
