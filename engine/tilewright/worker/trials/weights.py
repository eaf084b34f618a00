"""Other weights for a model than those it is made with, so that none can be counted on."""

from __future__ import annotations

from typing import Any

import torch

from ..inputs import generation

_GROWN = 1.125
_SPREAD = 0.25
"""Of what is added to weights that are all alike: a variance of one stays a variance."""
_PACKED = (torch.int8, torch.uint8)


def varied(weights: dict[str, Any], seed: int) -> dict[str, Any]:
    """Weights by name, each other than before but of the same kind.

    Layers are made with weights of one and biases of zero: a kernel that leaves those out is right
    for them. Numbers of 8 bits are quantized weights and change places; other integers (counters,
    indices) stay.
    """
    return {name: _other(value, seed, name) for name, value in weights.items()}


def _other(value: Any, seed: int, name: str) -> Any:
    if not isinstance(value, torch.Tensor) or not value.numel():
        return value
    generator = generation.stream(seed, f"weight {name}")
    if value.is_floating_point():
        if not bool((value == value.reshape(-1)[0]).all()):
            return value * _GROWN
        noise = torch.rand(value.shape, generator=generator) * (2 * _SPREAD) - _SPREAD
        return value * _GROWN + noise.to(value.device, value.dtype)
    if value.dtype in _PACKED and value.dim() > 1:
        order = torch.randperm(value.numel(), generator=generator).to(value.device)
        return value.reshape(-1)[order].reshape(value.shape)
    return value
