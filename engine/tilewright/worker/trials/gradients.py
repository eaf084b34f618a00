"""Gradients of an entry point's results with respect to its inputs and weights, as results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ..inputs import tensor_files

_STEP, _SHIFT = 0.7390851, 0.5  # no sum of what comes from above is zero by luck


def of_call(
    call: Callable[..., Any], inputs: Mapping[str, Any], model: Any, seed: int
) -> dict[str, Any]:
    """Call with gradients asked for, and go back through it; gradients by the name of what they are
    with respect to. Empty where no result can be differentiated.

    What comes from above follows from the seed, so that it is the same for every version.
    """
    leaves = {
        **{name: value for name, value in inputs.items() if _is_float(value)},
        **({} if model is None else dict(model.named_parameters())),
    }
    with torch.enable_grad():
        for value in leaves.values():
            value.requires_grad_(True)
            value.grad = None
        returned, _ = tensor_files.flatten(call(*inputs.values()))
        results = [
            (at, value)
            for at, value in enumerate(returned.values())
            if isinstance(value, torch.Tensor) and value.requires_grad and value.grad_fn is not None
        ]
        if results:
            above = [_output_gradient(value, seed, at) for at, value in results]
            torch.autograd.backward([value for _, value in results], above)
    found = {
        f"gradient of {name}": value.grad.detach()
        for name, value in leaves.items()
        if value.grad is not None
    }
    for value in leaves.values():
        value.requires_grad_(False)
        value.grad = None
    return found


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def _output_gradient(value: torch.Tensor, seed: int, at: int) -> torch.Tensor:
    places = torch.arange(value.numel(), dtype=torch.float64, device=value.device)
    drawn = torch.sin(places * _STEP + (seed + at + 1)) + _SHIFT
    return drawn.reshape(value.shape).to(value.dtype)
