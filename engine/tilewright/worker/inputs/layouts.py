"""How inputs lie in memory: the same values, with other strides, other offsets, or shared.

What a layout does is done again without effect, so that a process that reads the inputs from
files can restore what files do not keep (that two of them share memory).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from ..protocol import JobError
from . import tensor_files

if TYPE_CHECKING:
    from ..messages.parts import InputFacts

PLAIN, STRIDED, TRANSPOSED, OFFSET, ALIASED, EXPANDED = (
    "plain", "strided", "transposed", "offset", "aliased", "expanded",
)  # fmt: skip
_PAD = 3
_SHIFT = 1


def laid_out(
    inputs: dict[str, Any], layout: str, facts: Mapping[str, InputFacts] | None = None
) -> dict[str, Any]:
    """The inputs in a layout; raises JobError for one that is not there.

    Values stay as they are, but where two tensors come to share memory (``aliased``), or the rows
    of one do (``expanded``). What lies between rows is NaN, or as large as the dtype allows.
    """
    if layout not in LAYOUTS:
        raise JobError(f"unknown layout {layout!r}; there are {', '.join(LAYOUTS)}")
    if layout == ALIASED:
        return _aliased(inputs)
    change = _CHANGES[layout]
    return {
        name: _kept_to((facts or {}).get(name) or {}, layout, value, change)
        if isinstance(value, torch.Tensor) and value.dim()
        else value
        for name, value in inputs.items()
    }


def _kept_to(
    facts: InputFacts, layout: str, value: torch.Tensor, change: Callable[..., torch.Tensor]
) -> torch.Tensor:
    """A tensor in a layout, as far as what the spec states of it lets it."""
    if facts.get("contiguous") and layout in (STRIDED, TRANSPOSED, EXPANDED):
        return value
    align = int(facts.get("align") or 0)
    if align <= value.element_size():
        return change(value)
    step = align // value.element_size()
    if layout == OFFSET:
        return _offset(value, step)
    made = _strided(value, _PAD + -(value.shape[-1] + _PAD) % step) if layout == STRIDED else None
    made = change(value) if made is None else made
    return made if all(size == 1 or size % step == 0 for size in made.stride()) else value


def _plain(value: torch.Tensor) -> torch.Tensor:
    return value


def _strided(value: torch.Tensor, pad: int = _PAD) -> torch.Tensor:
    """Rows further apart than they are long; a vector stays as it is."""
    if value.dim() < 2:
        return value
    wide = value.new_empty((*value.shape[:-1], value.shape[-1] + pad))
    _fill(wide)
    view = wide[..., : value.shape[-1]]
    view.copy_(value)
    return view


def _transposed(value: torch.Tensor) -> torch.Tensor:
    """The last two dimensions stored the other way round."""
    if value.dim() < 2:
        return value
    return value.transpose(-1, -2).contiguous().transpose(-1, -2)


def _offset(value: torch.Tensor, shift: int = _SHIFT) -> torch.Tensor:
    """One element into its memory: no longer aligned to 16 bytes. Or as many as keep it so."""
    room = value.new_empty(tensor_files.extent(value.shape, value.stride()) + shift)
    _fill(room)
    view = torch.as_strided(room, value.shape, value.stride(), shift)
    return view.copy_(value)


def _expanded(value: torch.Tensor) -> torch.Tensor:
    """All rows are the first one: a stride of zero."""
    if value.dim() < 2 or not value.shape[0]:
        return value
    return value[:1].clone().expand(value.shape)


def _aliased(inputs: dict[str, Any]) -> dict[str, Any]:
    """Tensors of the same shape, strides and dtype are one and the same memory."""
    first: dict[Any, torch.Tensor] = {}
    made = {}
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor) and value.numel():
            kind = (tuple(value.shape), tuple(value.stride()), value.dtype)
            value = first.setdefault(kind, value)
            value = value.view(value.shape) if value is not inputs[name] else value
        made[name] = value
    return made


def _fill(memory: torch.Tensor) -> None:
    """Memory that no kernel may read."""
    if memory.is_floating_point() or memory.is_complex():
        memory.fill_(float("nan"))
    elif memory.dtype == torch.bool:
        memory.fill_(True)
    else:
        memory.fill_(torch.iinfo(memory.dtype).max)


_CHANGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    PLAIN: _plain,
    STRIDED: _strided,
    TRANSPOSED: _transposed,
    OFFSET: _offset,
    EXPANDED: _expanded,
}
LAYOUTS = (*_CHANGES, ALIASED)
