"""Tensor operators that the user's host code runs, with the bytes they touch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .frames import place, user_frame


class Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes each operator that reaches the dispatcher, however it was spelled.

    ``seen``: by ``namespace.name`` the calls, the most bytes of one call, and the first place. What
    Triton (an autotuner that clears a cache) or this package does for itself is not counted.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: dict[str, dict[str, Any]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        frame = user_frame(sys._getframe(1))
        if frame is not None:
            name = f"{func.namespace}.{func._schema.name.partition('::')[2]}"
            entry = self.seen.setdefault(name, {"calls": 0, "bytes": 0, "where": place(frame)})
            entry["calls"] += 1
            touched = sum(map(_size, _tensors((args, kwargs or {}, made))))
            entry["bytes"] = max(entry["bytes"], touched)
        return made


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _size(tensor: torch.Tensor) -> int:
    return int(tensor.numel() * tensor.element_size()) if tensor.layout == torch.strided else 0
