"""Tensor operators that the user's host code runs, with the bytes they touch."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..neuron import arrays
from ..operator_names import TO_HOST
from .user_frames import place, user_frame


class Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes each operator that reaches the dispatcher, however it was spelled.

    ``seen``: by ``namespace.name`` the calls, the most bytes of one call, and the first place. What
    Triton (an autotuner that clears a cache) or this package does for itself is not counted. Of
    host code that gets arrays, what numpy computes is noted likewise.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Operators:
        arrays.NOTED.append(self._computed)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *given: Any) -> None:
        super().__exit__(*given)  # type: ignore[no-untyped-call]
        arrays.NOTED.remove(self._computed)

    def _computed(self, name: str, size: int) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename == arrays.__file__:
            frame = frame.f_back
        frame = None if frame is None else user_frame(frame)
        if frame is not None:
            known = {"calls": 0, "bytes": 0, "where": place(frame)}
            entry = self.seen.setdefault(f"numpy.{name}", known)
            entry["calls"] += 1
            entry["bytes"] = max(entry["bytes"], size)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        frame = user_frame(sys._getframe(1))
        if frame is not None:
            if _comes_to_host(args, made):
                note(self.seen, f"tensor.{TO_HOST}", args, frame)
            name = f"{func.namespace}.{func._schema.name.partition('::')[2]}"
            note(self.seen, name, (args, kwargs or {}, made), frame)
        return made


def _uncompiled(method: Callable[..., Any]) -> Callable[..., Any]:
    """A mode's method without torch's wrapper, which keeps torch's compiler out of it and imports
    the compiler for that: a second of processor time. The wrapper stays where something else has
    imported the compiler."""
    plain: Callable[..., Any] = getattr(method, "__wrapped__", method)

    @functools.wraps(plain)
    def dispatched_call(*args: Any, **kwargs: Any) -> Any:
        compiler = sys.modules.get("torch._dynamo")
        # Half imported, it has no way to keep itself out yet.
        return (method if hasattr(compiler, "disable") else plain)(*args, **kwargs)

    return dispatched_call


setattr(Operators, "__torch_dispatch__", _uncompiled(Operators.__torch_dispatch__))  # noqa: B010


def note(seen: dict[str, dict[str, Any]], name: str, values: Any, frame: FrameType) -> None:
    """Count one more call of ``name``, on the tensors among ``values``."""
    entry = seen.setdefault(name, {"calls": 0, "bytes": 0, "where": place(frame)})
    entry["calls"] += 1
    entry["bytes"] = max(entry["bytes"], sum(map(size_of, tensors_in(values))))


def _comes_to_host(args: Any, made: Any) -> bool:
    """Whether contents were copied from a device to the host."""
    if not isinstance(made, torch.Tensor) or made.device.type != "cpu":
        return False
    return any(one.device.type not in ("cpu", "meta") for one in tensors_in(args))


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Tensors in containers, however deep."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def size_of(tensor: torch.Tensor) -> int:
    """Bytes of a tensor's elements; 0 where they do not lie one next to the other."""
    return int(tensor.numel() * tensor.element_size()) if tensor.layout == torch.strided else 0
