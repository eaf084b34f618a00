"""Contents of a launch's tensors, enough to make similar ones; and the launch's source line."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import triton

from ..inputs import tensor_files

if TYPE_CHECKING:
    from ..messages.jobs import Contents

# Offsets, lengths and tables are as short as this, and only make sense as they were.
MOST_VALUES = 1024
_NOT_USERS = (os.path.dirname(triton.__file__), str(Path(__file__).parents[1]))  # noqa: PTH120
_ODD = (RuntimeError, TypeError, ValueError, NotImplementedError)


def cpu_copy(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor's elements, copied to the CPU, with the strides they have.

    By a copy of bytes alone: what else computes on the device may be kernels of the very library
    whose launch is being recorded, under a lock that it holds.
    """
    size = tensor.element_size()
    length = tensor_files.extent(tensor.shape, tensor.stride()) * size
    data = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    storage = tensor.untyped_storage()
    data = data.set_(storage, int(tensor.storage_offset()) * size, (length,), (1,)).cpu()
    data = torch.from_numpy(data.numpy().copy())
    return tensor_files.restride(
        data.untyped_storage(), tensor.dtype, tensor.shape, tensor.stride(), 0, "cpu"
    )


def contents(given: dict[str, Any], *, floats: bool) -> dict[str, Contents]:
    """Range of each integer tensor, and its values where they are few; of others if ``floats``.

    Args:
        given: tensors on the CPU.
    """
    found = {}
    for name, tensor in given.items():
        try:
            about = _contents_of(tensor, floats=floats)
        except _ODD:  # a tensor that computes nothing: its launch is recorded without it
            continue
        if about:
            found[name] = about
    return found


def _contents_of(tensor: torch.Tensor, *, floats: bool) -> Contents:
    if tensor.numel() == 0 or tensor.is_complex():
        return {}
    if tensor.is_floating_point():
        return _of_floats(tensor.to(torch.float32)) if floats else {}
    if tensor.numel() <= MOST_VALUES:
        values = [int(value) for value in tensor.cpu().reshape(-1).tolist()]
        return {"low": min(values), "high": max(values), "values": values}
    if tensor.dtype == torch.bool:
        return {"low": int(tensor.min()), "high": int(tensor.max())}
    flat = tensor.reshape(-1).to(torch.int64)
    return {
        "low": int(flat.min()),
        "high": int(flat.max()),
        "ascending": bool((flat[1:] >= flat[:-1]).all()),
    }


def _of_floats(tensor: torch.Tensor) -> Contents:
    finite = tensor[torch.isfinite(tensor)]
    if finite.numel() == 0:
        return {}
    return {
        "low": float(finite.min()), "high": float(finite.max()), "mean": float(finite.mean()),
        "std": float(finite.std(unbiased=False)),
    }  # fmt: skip


def site() -> dict[str, Any] | None:
    """Where the launch stands: the innermost line that is neither Triton's nor ours."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_USERS):
        frame = frame.f_back
    if frame is None:
        return None
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)
    return {"file": os.path.realpath(code.co_filename), "line": frame.f_lineno, "function": name}
