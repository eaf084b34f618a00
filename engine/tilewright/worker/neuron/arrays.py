"""Tensors of a case as what an NKI kernel takes, and what it returns as tensors.

Kernels get numpy arrays over the same memory. numpy has no type for some of torch's floats: those
go as their values in float32 with the name of their type, as the simulator takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from ..nki.simulation import TypedArray

_NAMES = {
    torch.bfloat16: "bfloat16",
    torch.float8_e4m3fn: "float8_e4m3fn",
    torch.float8_e5m2: "float8_e5m2",
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
# fp8 of the chip ends at 240; its numbers are all among those of torch's type.
_DTYPES |= {"float8_e4m3": torch.float8_e4m3fn, "tfloat32": torch.float32, "bool": torch.bool}


class HostArray(np.ndarray):
    """An array of host code, which tells what numpy computes with it; results are such again.

    Views (a transpose, a slice, another shape) compute nothing and are not told.
    """

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        if out := named.get("out"):
            named["out"] = tuple(map(bare, out))
        result = getattr(ufunc, method)(*map(bare, inputs), **named)
        return _noted_result(ufunc.__name__, result)

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        del types
        given = {name: bare(value) for name, value in named.items()}
        return _noted_result(function.__name__, function(*map(bare, args), **given))


NOTED: list[Callable[[str, int], None]] = []
"""Called with the name of a function of numpy that host code computes with, and its bytes."""


def _noted_result(name: str, result: Any) -> Any:
    size = int(getattr(result, "nbytes", 0))
    for note in NOTED:
        note(name, size)
    return result.view(HostArray) if isinstance(result, np.ndarray) else result


def bare(value: Any) -> Any:
    """The array itself, without a record."""
    if isinstance(value, HostArray):
        return value.view(np.ndarray)
    if isinstance(value, list | tuple):
        return type(value)(bare(one) for one in value)
    return value


def to_host(value: Any) -> Any:
    """A tensor as an array that host code is watched with."""
    made = to_numpy(value)
    return made.view(HostArray) if isinstance(made, np.ndarray) else made


def to_numpy(value: Any) -> Any:
    """A tensor as an array over its memory, or as a typed one; anything else as it is."""
    if isinstance(value, HostArray):
        return bare(value)
    if not isinstance(value, torch.Tensor):
        return value
    if value.dtype in _NAMES:
        return TypedArray(value.detach().float().numpy(), _NAMES[value.dtype])
    return value.detach().numpy()


def to_torch(value: Any) -> Any:
    """Arrays in what a function returned as tensors, containers kept."""
    if isinstance(value, TypedArray):
        made = torch.from_numpy(np.ascontiguousarray(value.data))
        return made.to(_DTYPES.get(value.dtype, made.dtype))
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(bare(value)))
    if isinstance(value, np.generic):
        return torch.from_numpy(np.asarray(value))
    if isinstance(value, Mapping):
        return {key: to_torch(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(to_torch(one) for one in value)
    return value


def plain(output: TypedArray) -> Any:
    """An output as host code gets it: an array, but for types that numpy lacks."""
    is_narrow = output.dtype in _DTYPES and output.data.dtype == np.float32
    if is_narrow and output.dtype != "tfloat32":
        return output
    return output.data.view(HostArray)
