"""Tensors between bands of poison: what is written past either end of one is seen afterwards.

Each tensor lies in a buffer of its own, ``band | tensor | band``. A band holds signalling NaN (or a
rare integer) of a payload that no other tensor's band has: what was computed from a band, or copied
from another one, never has the bits that belong there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from . import poison, tensors

_ALIGNMENT = 512  # what CUDA's allocator gives; a multiple of every element's size
_LEAST_BYTES = 4096
_LEAST_ELEMENTS = 2048
_ROWS = 128  # a tile that has lost its mask reaches as many rows further
_MOST_BYTES = 8 << 20
_RARE = 0x5EED
_INFINITIES = {
    torch.float16: 0x7C00,
    torch.bfloat16: 0x7F80,
    torch.float32: 0x7F80_0000,
    torch.float64: 0x7FF0_0000_0000_0000,
}
_PAYLOADS = {
    torch.float16: 0x1FF, torch.bfloat16: 0x3F, torch.float32: 0x3F_FFFF, torch.float64: 1 << 50,
}  # fmt: skip
_SMALL = ("float8_e4m3", "float8_e5m2")  # these have a NaN or two, and no payload
_KINDS = ("cpu", "cuda", "xpu")
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


@dataclass
class _Banded:
    """One tensor's buffer; ``first`` and ``end`` are the bytes between the bands."""

    name: str | None
    dtype: torch.dtype
    shape: tuple[int, ...]
    storage: torch.UntypedStorage
    first: int
    end: int
    pattern: torch.Tensor

    def hits(self) -> tuple[int, int]:
        """How many elements were written before the start, and past the end."""
        data = torch.empty(0, dtype=torch.uint8, device=self.storage.device).set_(self.storage)
        return self._changed(data[: self.first]), self._changed(data[self.end :])

    def _changed(self, band: torch.Tensor) -> int:
        return int((band.view(-1, len(self.pattern)) != self.pattern).any(dim=1).sum())


class Bands:
    """The banded tensors of one run."""

    def __init__(self) -> None:
        self._kept: list[_Banded] = []
        self._found: list[str] = []
        self._made = 0

    def place(self, tensor: torch.Tensor, name: str | None = None) -> torch.Tensor:
        """The same values with the same strides between bands; what has no memory stays as is."""
        pattern = _pattern(tensor.dtype, self._made) if _can_hold(tensor) else None
        if pattern is None:
            return tensor
        self._made += 1
        self._sweep()
        size = tensor.element_size()
        begin = int(tensor.storage_offset()) * size
        length = tensors.extent(tensor.shape, tensor.stride()) * size
        band = _band_bytes(tensor)
        first, end = band + begin % _ALIGNMENT, band + begin % _ALIGNMENT + length
        buffer = torch.empty(end + band, dtype=torch.uint8, device=tensor.device)
        pattern = pattern.to(tensor.device)
        for part in (buffer[:first], buffer[end:]):
            part.view(-1, size).copy_(pattern)
        data = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        buffer[first:end].copy_(data.set_(tensor.untyped_storage(), begin, (length,), (1,)))
        storage = buffer.untyped_storage()
        self._kept.append(
            _Banded(name, tensor.dtype, tuple(tensor.shape), storage, first, end, pattern)
        )
        return tensors.restride(
            storage, tensor.dtype, tensor.shape, tensor.stride(), first // size, str(tensor.device)
        )

    def place_all(self, values: dict[str, Any], kind: str) -> dict[str, Any]:
        """Every tensor of ``values`` between bands, named by ``kind`` and its key."""
        return {
            name: self.place(value, f"{kind} {name}") if isinstance(value, torch.Tensor) else value
            for name, value in values.items()
        }

    def place_weights(self, model: torch.nn.Module) -> None:
        """Move a model's parameters and buffers between bands."""
        for name, value in (*model.named_parameters(), *model.named_buffers()):
            value.data = self.place(value.data, f"weight {name}")

    def front(self, tensor: torch.Tensor) -> int:
        """Bytes before the memory that a tensor shows a part of; 0 if it lies in no band."""
        where = tensor.untyped_storage().data_ptr()
        return next((one.first for one in self._kept if one.storage.data_ptr() == where), 0)

    def out_of_bounds(self, leaves: Mapping[str, Any]) -> list[str]:
        """What was written outside of a tensor, a sentence each; ``leaves`` names what came back.

        Ends the bookkeeping: call it once, when the device has finished.
        """
        returned = {
            value.untyped_storage().data_ptr(): name
            for name, value in leaves.items()
            if isinstance(value, torch.Tensor)
        }
        for one in self._kept:
            one.name = one.name or returned.get(one.storage.data_ptr())
            self._check(one)
        self._kept.clear()
        return list(dict.fromkeys(self._found))

    def _sweep(self) -> None:
        """Check and let go of what nobody else holds, so that a loop does not fill the memory."""
        dead = [one for one in self._kept if one.name is None and _is_last(one.storage)]
        for one in dead:
            self._check(one)
        self._kept = [one for one in self._kept if all(one is not gone for gone in dead)]

    def _check(self, one: _Banded) -> None:
        name = one.name or "a tensor that the host code allocates"
        kind = f"(shape {one.shape}, {tensors.dtype_name(one.dtype)})"
        places = "before the start of", "past the end of"
        for count, place in zip(one.hits(), places, strict=True):
            if count:
                elements = "element" if count == 1 else "elements"
                self._found.append(f"writes {count} {elements} {place} {name} {kind}")


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


def _can_hold(tensor: torch.Tensor) -> bool:
    if tensor.device.type not in _KINDS or tensor.layout != torch.strided or tensor.requires_grad:
        return False
    if tensor.numel() == 0 or tensor.is_quantized or tensor.is_conj() or tensor.is_neg():
        return False
    # Reading a band back is not allowed while a CUDA graph records.
    return tensor.device.type != "cuda" or not torch.cuda.is_current_stream_capturing()


def _pattern(dtype: torch.dtype, number: int) -> torch.Tensor | None:
    """The bytes of one element of band ``number``; None where the dtype has no poison."""
    if dtype.is_complex:
        half = _pattern(dtype.to_real(), number)
        return None if half is None else torch.cat([half, half])
    if dtype in _INFINITIES:
        bits = _INFINITIES[dtype] | (1 + (_RARE + number) % _PAYLOADS[dtype])
    elif dtype.is_floating_point:
        if not tensors.dtype_name(dtype).startswith(_SMALL):
            return None
        one = torch.empty(1, dtype=dtype)
        poison.fill(one)
        return one.view(torch.uint8)
    else:
        bits = 1 + (_RARE + number) % min(2 ** (8 * dtype.itemsize - 1) - 1, 0x7FFF)
    return torch.tensor(list(bits.to_bytes(dtype.itemsize, "little")), dtype=torch.uint8)


def _band_bytes(tensor: torch.Tensor) -> int:
    """Room for a ragged last tile: of elements, and of rows."""
    size = tensor.element_size()
    strides = sorted(stride for stride in tensor.stride() if stride)
    row = strides[1] if len(strides) > 1 else 1
    wanted = max(_LEAST_BYTES, _LEAST_ELEMENTS * size, min(_ROWS * row * size, _MOST_BYTES))
    return -(-wanted // _ALIGNMENT) * _ALIGNMENT


def _shares(made: torch.Tensor, args: Any) -> bool:
    source = args[0] if args else None
    if not isinstance(source, torch.Tensor):
        return False
    return made.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()


def _is_last(storage: Any) -> bool:
    """Whether no tensor uses a storage any more; False where this torch cannot tell."""
    count = getattr(torch._C, "_storage_Use_Count", None)
    return count is not None and count(storage._cdata) == 1
