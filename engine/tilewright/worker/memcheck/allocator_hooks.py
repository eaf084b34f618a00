"""What host code allocates, itself or by an operator, is put between bands of poison."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from . import poison
from .redzones import Bands

_RESIZE = (torch.Tensor.resize_, torch.Tensor.resize_as_)
_IN_PLACE = re.compile(r"[a-z].*_|__setitem__|__i(add|sub|mul|div|truediv|mod|and|or|xor|pow)__")
_AS_STRIDED = (torch.as_strided, torch.Tensor.as_strided)
# Memory that belongs to somebody else, or that has to stay where it is.
_FOREIGN = {
    torch.as_tensor, torch.asarray, torch.from_numpy, torch.frombuffer, torch.Tensor.set_,
    torch.Tensor.pin_memory, torch.Tensor.share_memory_,
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
        with torch._C.DisableTorchFunction():  # what follows is not the host code's
            return self._banded_result(func, made, args, kwargs)

    def _banded_result(self, func: Any, made: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """What a function gives, between bands where the function has allocated it."""
        self._note_writes(func, args, kwargs)
        if type(made) is not torch.Tensor or made.layout != torch.strided or _is_foreign(func):
            return made
        if kwargs.get("pin_memory") or _shares(made, (*args, *kwargs.values())):
            return made
        is_leaf = made.requires_grad and made.is_leaf
        placed = self._bands.place(made.detach() if is_leaf else made)
        placed = placed.requires_grad_() if is_leaf else placed
        if func in poison.UNWRITTEN:
            self._bands.unwritten(placed, is_so=True)
        return placed

    def _note_writes(self, func: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """What an operator writes in place is no longer as it was allocated."""
        written = [kwargs.get("out")]
        if _IN_PLACE.fullmatch(getattr(func, "__name__", "")):
            written += args[:1]
        for tensor in written:
            if isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided:
                self._bands.unwritten(tensor, is_so=False)

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


def _is_foreign(func: Any) -> bool:
    """Whether what a function gives was there before: so too the attributes of tensors."""
    return func in _FOREIGN or getattr(func, "__name__", "") == "__get__"


def _shares(made: torch.Tensor, values: Any) -> bool:
    """Whether a result is one of what it was made from, or a view of it."""
    where = made.untyped_storage().data_ptr()
    return any(_is_of(value, made, where) for value in values)


def _is_of(value: Any, made: torch.Tensor, where: int) -> bool:
    if isinstance(value, list | tuple):
        return _shares(made, value)
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return False
    return made is value or value.untyped_storage().data_ptr() == where
