"""A recorded call's arguments, made again from inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..inputs import tensor_files
from ..protocol import JobError


def caller(
    function: Callable[..., Any], arguments: Mapping[str, Any], names: Sequence[str], device: str
) -> Callable[..., Any]:
    """What calls a function with inputs by position, as a template says."""

    def called(*values: Any) -> Any:
        known = dict(zip(names, values, strict=True))
        args = [_filled(one, known, device) for one in arguments["args"]]
        kwargs = {key: _filled(one, known, device) for key, one in arguments["kwargs"].items()}
        return function(*args, **kwargs)

    return called


def _filled(template: Mapping[str, Any], known: Mapping[str, Any], device: str) -> Any:
    ((kind, value),) = template.items()
    if kind == "input":
        return known[value]
    if kind == "none":
        return None
    if kind == "dtype":
        return tensor_files.dtype_of(value)
    if kind == "device":
        return torch.device(device)
    if kind in ("list", "tuple"):
        filled = [_filled(one, known, device) for one in value]
        return tuple(filled) if kind == "tuple" else filled
    if kind == "dict":
        return {key: _filled(one, known, device) for key, one in value.items()}
    raise JobError(f"an argument of kind {kind!r} is not known")
