"""What host code allocates is put between bands of poison, unseen by it."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .bands import Bands

_RESIZE = (torch.Tensor.resize_, torch.Tensor.resize_as_)
_AS_STRIDED = (torch.as_strided, torch.Tensor.as_strided)
_FRESH = {
    torch.empty, torch.empty_like, torch.empty_strided, torch.empty_permuted,
    torch.zeros, torch.zeros_like, torch.ones, torch.ones_like, torch.full, torch.full_like,
    torch.rand, torch.rand_like, torch.randn, torch.randn_like, torch.randint, torch.arange,
    torch.tensor, torch.clone,
    torch.Tensor.new_empty, torch.Tensor.new_empty_strided, torch.Tensor.new_zeros,
    torch.Tensor.new_ones, torch.Tensor.new_full, torch.Tensor.new_tensor,
    torch.Tensor.clone, torch.Tensor.contiguous, torch.Tensor.to, torch.Tensor.float,
    torch.Tensor.half, torch.Tensor.bfloat16, torch.Tensor.double, torch.Tensor.int,
    torch.Tensor.long,
}  # fmt: skip


class Guard(TorchFunctionMode):
    """Put what host code allocates between bands."""

    def __init__(self, bands: Bands) -> None:
        super().__init__()
        self._bands = bands

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in _AS_STRIDED:
            args, kwargs = self._shifted(args, kwargs)
        elif func in _RESIZE and args:
            self._bands.release(args[0])
        made = func(*args, **kwargs)
        if func not in _FRESH or type(made) is not torch.Tensor:
            return made
        if kwargs.get("out") is not None or kwargs.get("pin_memory") or _shares(made, args):
            return made
        return self._bands.place(made)

    def _shifted(self, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """An absolute storage offset counts from the tensor's memory, not from the band's."""
        tensor = args[0] if args else kwargs.get("input")
        named = len(args) < 4
        offset = kwargs.get("storage_offset") if named else args[3]
        if offset is None or not isinstance(tensor, torch.Tensor):
            return args, kwargs
        front = self._bands.front(tensor) // tensor.element_size()
        if offset >= front:
            return args, kwargs
        if named:
            return args, {**kwargs, "storage_offset": offset + front}
        return (*args[:3], offset + front), kwargs


def _shares(made: torch.Tensor, args: Any) -> bool:
    source = args[0] if args else None
    if not isinstance(source, torch.Tensor):
        return False
    return made.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()
