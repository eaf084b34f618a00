"""The backward pass of a call: gradients of its arguments for gradients of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..protocol import JobError

Place = Callable[[torch.Tensor, str], torch.Tensor]


def with_gradients(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The same tensors as leaves of a graph, where their type has gradients."""
    return {
        name: one.detach().requires_grad_() if _is_real(one) else one
        for name, one in arguments.items()
    }


def outputs(leaves: Sequence[Any]) -> list[int]:
    """Which results a backward pass begins at, by number. Raises JobError where there is none."""
    found = [n for n, one in enumerate(leaves) if _is_real(one) and one.requires_grad]
    if not found:
        raise JobError("no result has a gradient")
    return found


def backward(
    leaves: Sequence[Any],
    at: Sequence[int],
    arguments: Mapping[str, Any],
    number: int,
    place: Place,
) -> dict[str, torch.Tensor | None]:
    """Gradients of the arguments, by name; None for one that has none.

    Args:
        at: the results that have a gradient, which is random. That of an odd call lies in memory in
            another order, as after a transpose.
        number: of the call.
        place: puts a gradient of a result into memory, by its name.
    """
    results = []
    for n in at:
        one = leaves[n] if n < len(leaves) else None
        if not isinstance(one, torch.Tensor) or not one.requires_grad:
            raise JobError(f"result {n + 1} of the reference has no gradient")
        results.append(one)
    draw = torch.Generator().manual_seed(number)
    given = []
    with torch._C.DisableTorchFunction():  # these are inputs and no allocations of the host code
        for n, one in zip(at, results, strict=True):
            gradient = torch.randn(one.shape, generator=draw).to(one.dtype)
            if number % 2 and gradient.dim() > 1:
                gradient = gradient.mT.contiguous().mT
            given.append(place(gradient, f"gradient of result {n + 1}"))
    wanted = {name: one for name, one in arguments.items() if _has_gradient(one)}
    # ``torch.autograd.grad`` hands over to the modes that watch allocations, and the backward pass
    # would run without them.
    engine: Any = torch.autograd.Variable._execution_engine
    found = engine.run_backward(
        tuple(results), tuple(given), False, False, tuple(wanted.values()),
        allow_unreachable=True, accumulate_grad=False,
    )  # fmt: skip
    return dict(zip(wanted, found, strict=True))


def _is_real(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _has_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad
