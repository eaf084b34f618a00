"""Whose memory results lie in, and whether without gaps: part of what a caller may rely on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch


def shared(results: Sequence[Any], inputs: Mapping[str, Any]) -> list[str]:
    """``result 0 lies in TOTAL`` for each result and input that share storage, and ``result 0 is
    not contiguous``."""
    scattered = [
        f"result {at} is not contiguous"
        for at, result in enumerate(results)
        if _storage(result) is not None and not result.is_contiguous()
    ]
    return scattered + [
        f"result {at} lies in {name}"
        for at, result in enumerate(results)
        for name, value in inputs.items()
        if _storage(result) is not None and _storage(result) == _storage(value)
    ]


def _storage(value: Any) -> int | None:
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or not value.numel():
        return None
    return int(value.untyped_storage().data_ptr())
