"""Memory that host code allocates without writing comes back full of a value nobody computes."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_RARE_INT = 0x5EED
_UNWRITTEN = {
    torch.empty, torch.empty_like, torch.empty_strided, torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided, torch.empty_permuted,
}  # fmt: skip


class Poison(TorchFunctionMode):
    """Fill what ``torch.empty`` and its kin return: NaN, or a rare integer."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if func in _UNWRITTEN and isinstance(made, torch.Tensor):
            fill(made)
        return made


def fill(tensor: torch.Tensor) -> None:
    """Overwrite a tensor with its dtype's poison."""
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.fill_(float("nan"))
    elif tensor.dtype == torch.bool:
        tensor.fill_(True)
    else:
        tensor.fill_(_RARE_INT % (torch.iinfo(tensor.dtype).max + 1))
