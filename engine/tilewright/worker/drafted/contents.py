"""Tensors from a draft: shape, dtype, what they hold, how they lie in memory."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ..inputs import tensor_files
from ..protocol import JobError

if TYPE_CHECKING:
    from ..messages.drafted import DraftedArgument

_LEAST, _MOST = -8, 8
_WIDE = 100.0


def argument_of(name: str, argument: DraftedArgument) -> Any:
    """What an argument stands for; the same in each run, other values for other names."""
    if "shape" not in argument:
        if "dtype" in argument:
            return tensor_files.dtype_of(argument["dtype"])
        return argument.get("value")
    draw = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    family, _, most = str(argument.get("contents") or "normal").partition(":")
    if family not in _FAMILIES:
        raise JobError(f"no contents are called {family!r}; there are {', '.join(_FAMILIES)}")
    shape = tuple(argument["shape"])
    values = _FAMILIES[family](shape, int(most or _MOST), draw)
    tensor = _of_dtype(values, tensor_files.dtype_of(argument.get("dtype") or "float32"))
    return _exchanged(tensor, argument["exchanged"]) if "exchanged" in argument else tensor


def _exchanged(tensor: torch.Tensor, axes: list[int]) -> torch.Tensor:
    """The same values with two axes stored in the other order."""
    return tensor.transpose(*axes).contiguous().transpose(*axes)


def _of_dtype(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if values.is_floating_point() and not dtype.is_floating_point and dtype != torch.bool:
        values = (values * 3).round().clamp(0 if dtype == torch.uint8 else _LEAST, _MOST)
    return values > 0 if dtype == torch.bool else values.to(dtype)


def _normal(shape: tuple[int, ...], most: int, draw: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=draw)


def _positive(shape: tuple[int, ...], most: int, draw: torch.Generator) -> torch.Tensor:
    return torch.rand(shape, generator=draw) * 0.8 + 0.1


def _negative(shape: tuple[int, ...], most: int, draw: torch.Generator) -> torch.Tensor:
    return -_positive(shape, most, draw)


def _wide(shape: tuple[int, ...], most: int, draw: torch.Generator) -> torch.Tensor:
    """So large that the exponential of some is out of the range of 32 bits."""
    return torch.randn(shape, generator=draw) * _WIDE


def _steps(shape: tuple[int, ...], most: int, draw: torch.Generator) -> torch.Tensor:
    """Multiples of a half: thresholds are among them."""
    return (torch.randn(shape, generator=draw) * 2).round() / 2


def _zeros(shape: tuple[int, ...], most: int, draw: torch.Generator) -> torch.Tensor:
    return torch.zeros(shape)


def _random_integers(shape: tuple[int, ...], most: int, draw: torch.Generator) -> torch.Tensor:
    return torch.randint(0, max(most, 1), shape, generator=draw)


def _lengths(shape: tuple[int, ...], most: int, draw: torch.Generator) -> torch.Tensor:
    """From 1 to ``most``, which one of them has."""
    found = torch.randint(1, max(most, 1) + 1, shape, generator=draw)
    if found.numel():
        found.view(-1)[-1] = most
    return found


def _offsets(shape: tuple[int, ...], most: int, draw: torch.Generator) -> torch.Tensor:
    """Ascending from 0 to ``most``."""
    steps = torch.linspace(0, most, max(math.prod(shape), 2)).round().long()
    return steps[: math.prod(shape)].reshape(shape)


def _distinct(shape: tuple[int, ...], most: int, draw: torch.Generator) -> torch.Tensor:
    """No number twice where there are as many below ``most``."""
    count = math.prod(shape)
    order = torch.randperm(max(most, 1), generator=draw)
    return order.repeat(-(-count // len(order)))[:count].reshape(shape)


_FAMILIES: dict[str, Callable[[tuple[int, ...], int, torch.Generator], torch.Tensor]] = {
    "normal": _normal,
    "positive": _positive,
    "negative": _negative,
    "wide": _wide,
    "steps": _steps,
    "zeros": _zeros,
    "below": _random_integers,
    "lengths": _lengths,
    "offsets": _offsets,
    "distinct": _distinct,
}
