"""Fill memory that host code allocates with a poison value."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_RARE_INT = 0x5EED
# Quiet NaN with a payload of their own, by dtype: (an integer of the same size, its bits). They
# survive being copied, and, on a CPU, being computed with.
_NAN = {
    torch.float16: (torch.int16, 0x7EED),
    torch.bfloat16: (torch.int16, 0x7FED),
    torch.float32: (torch.int32, 0x7FC5_EED5),
    torch.float64: (torch.int64, 0x7FF8_5EED_5EED_5EED),
}
_LEAST_INT_BYTES = 2
UNWRITTEN = {
    torch.empty, torch.empty_like, torch.empty_strided, torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided, torch.empty_permuted,
}  # fmt: skip
"""What allocates memory and leaves it as it is."""


class Poison(TorchFunctionMode):
    """Fill what ``torch.empty`` and its kin return: NaN, or a rare integer."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if func in UNWRITTEN and isinstance(made, torch.Tensor):
            with torch._C.DisableTorchFunction():  # it was not written
                fill(made.detach())
        return made


def fill(tensor: torch.Tensor) -> None:
    """Overwrite a tensor with its dtype's poison."""
    if tensor.dtype in _NAN and tensor.layout == torch.strided:
        whole, bits = _NAN[tensor.dtype]
        tensor.view(whole).fill_(bits)
    elif tensor.is_floating_point() or tensor.is_complex():
        tensor.fill_(float("nan"))
    elif tensor.dtype == torch.bool:
        tensor.fill_(True)
    else:
        tensor.fill_(_RARE_INT % (torch.iinfo(tensor.dtype).max + 1))


def is_telling(dtype: torch.dtype) -> bool:
    """Whether nobody computes a dtype's poison, so that it alone shows what is unwritten."""
    return dtype in _NAN


@lru_cache
def bits(dtype: torch.dtype) -> int | None:
    """One element's poison as an unsigned integer; None where an element has no single one."""
    if dtype.is_complex:
        return None
    with torch._C.DisableTorchFunction():
        one = torch.zeros(1, dtype=dtype)
        fill(one)
        return int.from_bytes(bytes(one.view(torch.uint8).tolist()), "little")


def written(tensor: torch.Tensor) -> torch.Tensor | None:
    """Which elements are not poison; None where all are, or where the dtype's poison is a value
    that may well be computed."""
    if tensor.dtype in _NAN:
        whole, bits = _NAN[tensor.dtype]
        # Arithmetic may set the sign.
        mask = torch.iinfo(whole).max
        found = (tensor.view(whole) & mask) != bits
    elif not tensor.dtype.is_floating_point and tensor.dtype.itemsize >= _LEAST_INT_BYTES:
        if tensor.dtype.is_complex:
            return None
        found = tensor != _RARE_INT
    else:
        return None
    return None if bool(found.all()) else found


def free_memory(device: str) -> int:
    """Fill what a CUDA device's allocator holds and nobody uses with NaN (all bits set).

    So that memory which operators allocate in C++, unseen by ``Poison``, is poisoned as well.
    Returns the bytes that were filled.
    """
    if not device.startswith("cuda"):
        return 0
    torch.cuda.synchronize(device)
    index = torch.device(device).index or 0
    blocks = [
        int(block["size"])
        for segment in torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call]
        if segment["device"] == index and segment["stream"] == 0
        for block in segment["blocks"]
        if block["state"] == "inactive"
    ]
    held = [
        torch.empty(size, dtype=torch.uint8, device=device).fill_(255)
        for size in sorted(blocks, reverse=True)
    ]
    torch.cuda.synchronize(device)
    return sum(one.numel() for one in held)
