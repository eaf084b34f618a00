"""Whose memory results lie in, and what else of them and of inputs a caller may rely on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch


def shared(results: Sequence[Any], inputs: Mapping[str, Any]) -> list[str]:
    """``result 0 lies in TOTAL`` for each result and input that share storage, and what is out of
    the ordinary with them: gaps, gradients that are asked for, types of their own."""
    odd = [f"result {at} {what}" for at, result in enumerate(results) for what in _odd(result)]
    odd += [
        f"it leaves input {name} {what}"
        for name, value in inputs.items()
        if isinstance(value, torch.Tensor)
        for what in _left_on(value)
    ]
    return odd + [
        f"result {at} lies in {name}"
        for at, result in enumerate(results)
        for name, value in inputs.items()
        if _storage(result) is not None and _storage(result) == _storage(value)
    ]


def _odd(value: Any) -> Iterator[str]:
    if not isinstance(value, torch.Tensor):
        return
    if value.layout == torch.strided and value.numel() and not value.is_contiguous():
        yield "is not contiguous"
    if value.requires_grad:
        yield "asks for gradients"
    if type(value) is not torch.Tensor:
        yield f"is a {type(value).__name__}"


def _left_on(value: torch.Tensor) -> Iterator[str]:
    if value.requires_grad:
        yield "asking for gradients"
    if value.is_leaf and value.grad is not None:
        yield "with a gradient"
    if vars(value):
        yield f"with attributes ({', '.join(vars(value))})"


def _storage(value: Any) -> int | None:
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or not value.numel():
        return None
    return int(value.untyped_storage().data_ptr())
