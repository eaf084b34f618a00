"""Families of values: what normal numbers are made into, so that a kernel cannot be right by luck.

Each takes fp32 normal numbers and the generator they came from. Masks, and numbers with a range of
their own, stay what the spec says; integers without one are drawn from 0 to 7 but in the families
for them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

NORMAL, LARGE, TINY, SPARSE = "normal", "large", "tiny", "sparse"
SIGNED_ZEROS, NONFINITE, OUTLIERS, CONSTANT_ROWS = (
    "signed_zeros", "nonfinite", "outliers", "constant_rows",
)  # fmt: skip
SHIFTED, MIXED, MIXED_CONSTANT = "shifted", "mixed", "mixed_constant"
WIDE, WIDER = "wide_integers", "wider_integers"
Family = Callable[[torch.Tensor, torch.Generator], torch.Tensor]

_LARGE, _LARGE_HALF = 64.0, 32.0
"""Far enough for exp to overflow unless the maximum is taken off; products of halves do not."""
_TINY = 2.0**-10
_KEPT = 0.1
_OUTLIER, _OUTLIER_HALF = 1e4, 1e3
_SHARE = 1.0 / 128.0
_VECTOR = -3.5
_ROW_SIZES = (1.0, 0.0, -3.5, 300.0, 1e-4)
_SHIFT, _SHIFT_BYTE = 300.0, 16.0
"""A mean so far above a spread of 1 that squares of it leave single precision nothing of that."""
_MOST = {WIDE: 1000, WIDER: 1 << 28}
"""What integers without a range go up to, and down to below zero, where that is asked for."""


def family_of(name: str, dtype: torch.dtype) -> Family:
    """The family ``name`` for tensors of ``dtype``; raises KeyError for one that is not there."""
    if name == SHIFTED and dtype.itemsize == 1:
        return partial(_shifted, by=_SHIFT_BYTE)
    is_half = dtype == torch.float16 or dtype.itemsize == 1
    if is_half and name in _HALF:
        return _HALF[name]
    return FAMILIES[name]


def integers(name: str, dtype: torch.dtype) -> tuple[int, int] | None:
    """The range of integers without one of their own, the upper end excluded; None: as usual."""
    if name not in _MOST:
        return None
    info, most = torch.iinfo(dtype), _MOST[name]
    return max(int(info.min), -most), min(int(info.max), most) + 1


def _scaled(data: torch.Tensor, _: torch.Generator, scale: float) -> torch.Tensor:
    return data.mul_(scale)


def _sparse(data: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Nine of ten are zero, the last row and the last column among those that stay."""
    kept = torch.rand(data.shape, generator=generator) < _KEPT
    if data.dim():
        kept[..., -1] = True
    return data.mul_(kept)


def _signed_zeros(data: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """A third are 0.0, another third are -0.0."""
    pick = torch.randint(0, 3, data.shape, generator=generator)
    return torch.where(pick == 0, 0.0, torch.where(pick == 1, -0.0, data))


def _nonfinite(data: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """One NaN and one infinity of each sign, in tensors that have room for them.

    The NaN has its row and its column to itself where there are two or more: next to an infinity,
    a kernel that drops it gives NaN all the same.
    """
    if data.numel() < 8:
        return data
    rows = data.reshape(-1, data.shape[-1])
    down, across = (_places(size, generator) for size in rows.shape)
    rows[down, across] = torch.tensor([torch.nan, torch.inf, -torch.inf])
    return rows.reshape(data.shape)


def _places(size: int, generator: torch.Generator) -> torch.Tensor:
    """Three indices, different ones where there are as many."""
    places = torch.randperm(min(size, 1 << 16), generator=generator)[:3]
    return places[torch.arange(3).clamp(max=len(places) - 1)]


def _outliers(data: torch.Tensor, generator: torch.Generator, size: float) -> torch.Tensor:
    """A few numbers are thousands of times as large as the others, in every other row."""
    large = torch.rand(data.shape, generator=generator) < _SHARE
    if data.dim() > 1:
        large[..., 1::2, :] = False
    return torch.where(large, data * size, data)


def _constant_rows(data: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    """Rows of one number each: no spread, and a mean that is not zero."""
    if data.dim() < 2:
        return torch.full(data.shape, _VECTOR)  # 1 and 0 are their own squares
    sizes = torch.tensor([_ROW_SIZES[at % len(_ROW_SIZES)] for at in range(data.shape[0])])
    return sizes.reshape((-1,) + (1,) * (data.dim() - 1)).expand(data.shape).clone()


def _shifted(data: torch.Tensor, _: torch.Generator, by: float) -> torch.Tensor:
    """A mean far above the spread."""
    return data.add_(by)


def _mixed(data: torch.Tensor, generator: torch.Generator, names: tuple[str, ...]) -> torch.Tensor:
    """Each row, or each part of a vector, of another one of some families."""
    made = torch.empty_like(data)
    rows = data.reshape(-1, data.shape[-1]) if data.dim() > 1 else data.reshape(-1, 1)
    into = made.view(rows.shape)
    which = torch.arange(len(rows))
    turn = which % len(names) if data.dim() > 1 else which * len(names) // max(len(rows), 1)
    for at, name in enumerate(names):
        part = rows[turn == at]
        flat = part if data.dim() > 1 else part.reshape(-1)
        into[turn == at] = FAMILIES[name](flat.clone(), generator).reshape(part.shape)
    return made


FAMILIES: dict[str, Family] = {
    NORMAL: lambda data, _: data,
    LARGE: partial(_scaled, scale=_LARGE),
    TINY: partial(_scaled, scale=_TINY),
    SPARSE: _sparse,
    SIGNED_ZEROS: _signed_zeros,
    NONFINITE: _nonfinite,
    OUTLIERS: partial(_outliers, size=_OUTLIER),
    CONSTANT_ROWS: _constant_rows,
    SHIFTED: partial(_shifted, by=_SHIFT),
    MIXED: partial(_mixed, names=(OUTLIERS, TINY, SIGNED_ZEROS)),
    MIXED_CONSTANT: partial(_mixed, names=(OUTLIERS, TINY, SIGNED_ZEROS, CONSTANT_ROWS)),
    WIDE: lambda data, _: data,
    WIDER: lambda data, _: data,
}
_HALF: dict[str, Family] = {
    LARGE: partial(_scaled, scale=_LARGE_HALF),
    OUTLIERS: partial(_outliers, size=_OUTLIER_HALF),
}
