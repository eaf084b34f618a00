"""Tensors between bands of poison: what is written past either end of one is seen afterwards.

Each tensor lies in a buffer of its own, ``band | tensor | band``. A band holds signalling NaN (or a
rare integer) of a payload that no other tensor's band has: what was computed from a band, or copied
from another one, never has the bits that belong there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ..inputs import tensor_files
from . import poison

_ALIGNMENT = 512  # what CUDA's allocator gives; a multiple of every element's size
_LEAST_BYTES = 4096
_LEAST_ELEMENTS = 2048
_ROWS = 128  # a tile that has lost its mask reaches as many rows further
_MOST_BYTES = 2 << 20
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
_WHOLE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_SMALL = ("float8_e4m3", "float8_e5m2")  # these have a NaN or two, and no payload
_KINDS = ("cpu", "cuda", "xpu")


READS, WRITES = "reads", "writes"
BEFORE, AFTER = "before the start of", "past the end of"


@dataclass
class Touched:
    """Places of one band that a kernel reached, as far as that is watched: addresses, lines."""

    places: set[int] = field(default_factory=set)
    lines: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Fault:
    """An access outside of a tensor, in words, and the source lines that made it, if known."""

    text: str
    lines: tuple[str, ...] = ()


@dataclass
class Banded:
    """One tensor's buffer; ``first`` and ``end`` are the bytes between the bands.

    ``is_unwritten`` while no operator has written what the host code allocated and left as it was.
    """

    name: str | None
    dtype: torch.dtype
    shape: tuple[int, ...]
    storage: torch.UntypedStorage
    first: int
    end: int
    pattern: torch.Tensor
    touched: dict[tuple[str, str], Touched] = field(default_factory=dict)
    is_unwritten: bool = False

    def touch(self, verb: str, side: str) -> Touched:
        """What was reached of one band, to be added to."""
        return self.touched.setdefault((verb, side), Touched())

    def hits(self) -> tuple[int, int]:
        """How many elements were written before the start, and past the end."""
        data = torch.empty(0, dtype=torch.uint8, device=self.storage.device).set_(self.storage)
        return self._changed(data[: self.first]), self._changed(data[self.end :])

    def _changed(self, band: torch.Tensor) -> int:
        if _is_all(band, self.pattern):
            return 0
        if (whole := _WHOLE.get(len(self.pattern))) is not None:  # one comparison an element
            return int(torch.count_nonzero(band.view(whole) != self.pattern.view(whole)))
        return int((band.view(-1, len(self.pattern)) != self.pattern).any(dim=1).sum())


def described(one: Banded) -> str:
    """A tensor for people: its name as far as it has one, shape and dtype."""
    name = one.name or "a tensor that the host code allocates"
    return f"{name} (shape {one.shape}, {tensor_files.dtype_name(one.dtype)})"


class Bands:
    """The banded tensors of one run.

    Attributes:
        races: what programs of a launch do to each other's memory; filled by who watches them.
    """

    def __init__(self) -> None:
        self.kept: list[Banded] = []
        self.races: Callable[[], list[Fault]] = list
        self.made = 0
        self._found: list[Fault] = []

    def place(self, tensor: torch.Tensor, name: str | None = None) -> torch.Tensor:
        """The same values with the same strides between bands; what has no memory stays as is."""
        pattern = _pattern(tensor.dtype, self.made) if _can_hold(tensor) else None
        if pattern is None:
            return tensor
        self.made += 1
        self._sweep()
        size = tensor.element_size()
        begin = int(tensor.storage_offset()) * size
        length = tensor_files.extent(tensor.shape, tensor.stride()) * size
        band = _band_bytes(tensor)
        first, end = band + begin % _ALIGNMENT, band + begin % _ALIGNMENT + length
        buffer = torch.empty(end + band, dtype=torch.uint8, device=tensor.device)
        pattern = pattern.to(tensor.device)
        for part in (buffer[:first], buffer[end:]):
            _fill(part, pattern)
        data = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        buffer[first:end].copy_(data.set_(tensor.untyped_storage(), begin, (length,), (1,)))
        storage = buffer.untyped_storage()
        self.kept.append(
            Banded(name, tensor.dtype, tuple(tensor.shape), storage, first, end, pattern)
        )
        return tensor_files.restride(
            storage, tensor.dtype, tensor.shape, tensor.stride(), first // size, str(tensor.device)
        )

    def place_all(self, values: dict[str, Any], kind: str) -> dict[str, Any]:
        """Every tensor of ``values`` between bands, named by ``kind`` and its key.

        Takes them out of ``values`` one by one, so that they are never all there twice.
        """
        shared = _shared(values)
        placed = {}
        for name in list(values):
            value = values.pop(name)
            if isinstance(value, torch.Tensor):
                value = self._place_shared(value, f"{kind} {name}", shared)
            placed[name] = value
        return placed

    def _place_shared(
        self, tensor: torch.Tensor, name: str, shared: dict[int, _Shared]
    ) -> torch.Tensor:
        """Between bands; what shares memory with another tensor goes on doing so."""
        group = shared.get(tensor.untyped_storage().data_ptr())
        if group is None:
            return self.place(tensor, name)
        if group.placed is None:
            group.placed = self.place(group.whole(tensor), name)
        size = tensor.element_size()
        first = int(group.placed.storage_offset()) * group.placed.element_size()
        offset = first + int(tensor.storage_offset()) * size - group.first
        return tensor_files.restride(
            group.placed.untyped_storage(), tensor.dtype, tensor.shape, tensor.stride(),
            offset // size, str(tensor.device),
        )  # fmt: skip

    def place_weights(self, model: torch.nn.Module) -> None:
        """Move a model's parameters and buffers between bands."""
        for name, value in (*model.named_parameters(), *model.named_buffers()):
            value.data = self.place(value.data, f"weight {name}")

    def unwritten(self, tensor: torch.Tensor, *, is_so: bool) -> None:
        """Whether a tensor's memory is as it was allocated, as far as operators write it."""
        where = tensor.untyped_storage().data_ptr()
        for one in self.kept:
            if one.storage.data_ptr() == where:
                one.is_unwritten = is_so

    def snapshot(self) -> Callable[[], None]:
        """A function that forgets what is noted of bands from here on; for use once."""
        touched = [
            (
                one,
                {
                    key: Touched(set(there.places), set(there.lines))
                    for key, there in one.touched.items()
                },
            )
            for one in self.kept
        ]

        def restore() -> None:
            for one, before in touched:
                one.touched = before

        return restore

    def release(self, tensor: torch.Tensor) -> None:
        """Watch a tensor's memory no longer: the host code is about to make it larger."""
        where = tensor.untyped_storage().data_ptr()
        for one in self.kept:
            if one.storage.data_ptr() == where:
                self._check(one)
        self.kept = [one for one in self.kept if one.storage.data_ptr() != where]
        self.made += 1

    def front(self, tensor: torch.Tensor) -> int:
        """Bytes before the memory that a tensor shows a part of; 0 if it lies in no band."""
        where = tensor.untyped_storage().data_ptr()
        return next((one.first for one in self.kept if one.storage.data_ptr() == where), 0)

    def out_of_bounds(self, leaves: Mapping[str, Any]) -> list[Fault]:
        """What was reached outside of a tensor; ``leaves`` names what came back.

        Ends the bookkeeping: call it once, when the device has finished.
        """
        returned = {
            value.untyped_storage().data_ptr(): name
            for name, value in leaves.items()
            if isinstance(value, torch.Tensor)
        }
        for one in self.kept:
            one.name = one.name or returned.get(one.storage.data_ptr())
            self._check(one)
        self.kept.clear()
        return sorted(self._found, key=lambda fault: fault.text.startswith(READS))

    def _sweep(self) -> None:
        """Check and let go of what nobody else holds, so that a loop does not fill the memory."""
        dead = [one for one in self.kept if one.name is None and _is_last(one.storage)]
        for one in dead:
            self._check(one)
        self.kept = [one for one in self.kept if all(one is not gone for gone in dead)]

    def _check(self, one: Banded) -> None:
        for count, side in zip(one.hits(), (BEFORE, AFTER), strict=True):
            # The bits of a band show a write on any device; who watches knows its line as well.
            seen = one.touched.get((WRITES, side), Touched())
            self._tell(one, WRITES, side, max(count, len(seen.places)), seen.lines)
            seen = one.touched.get((READS, side), Touched())
            self._tell(one, READS, side, len(seen.places), seen.lines)

    def _tell(self, one: Banded, verb: str, side: str, count: int, lines: set[str]) -> None:
        if count:
            elements = "element" if count == 1 else "elements"
            text = f"{verb} {count} {elements} {side} {described(one)}"
            fault = Fault(text, tuple(sorted(lines)))
            if fault not in self._found:
                self._found.append(fault)


@dataclass
class _Shared:
    """Memory that several tensors show parts of: its bytes from ``first`` to ``end``."""

    first: int
    end: int
    placed: torch.Tensor | None = None

    def whole(self, tensor: torch.Tensor) -> torch.Tensor:
        """All of it, as elements like those of one of its tensors."""
        size = tensor.element_size()
        length = (self.end - self.first) // size
        return tensor_files.restride(
            tensor.untyped_storage(), tensor.dtype, (length,), (1,), self.first // size,
            str(tensor.device),
        )  # fmt: skip


def _shared(values: Mapping[str, Any]) -> dict[int, _Shared]:
    """The memory that more than one of the values lies in, by address.

    Only tensors whose elements are of one size: others would not fall on the same boundaries.
    """
    groups: dict[int, list[torch.Tensor]] = {}
    for value in values.values():
        if isinstance(value, torch.Tensor) and _can_hold(value):
            groups.setdefault(value.untyped_storage().data_ptr(), []).append(value)
    found = {}
    for where, members in groups.items():
        if len(members) > 1 and len({one.element_size() for one in members}) == 1:
            starts = [int(one.storage_offset()) * one.element_size() for one in members]
            ends = [
                start + tensor_files.extent(one.shape, one.stride()) * one.element_size()
                for start, one in zip(starts, members, strict=True)
            ]
            found[where] = _Shared(min(starts), max(ends))
    return found


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
        if not tensor_files.dtype_name(dtype).startswith(_SMALL):
            return None
        one = torch.empty(1, dtype=dtype)
        poison.fill(one)
        return one.view(torch.uint8)
    else:
        bits = 1 + (_RARE + number) % min(2 ** (8 * dtype.itemsize - 1) - 1, 0x7FFF)
    return torch.tensor(list(bits.to_bytes(dtype.itemsize, "little")), dtype=torch.uint8)


def _fill(band: torch.Tensor, pattern: torch.Tensor) -> None:
    """A band of one element after the other."""
    whole = _WHOLE.get(len(pattern))
    if whole is None:
        band.view(-1, len(pattern)).copy_(pattern)
    else:
        band.view(whole).copy_(pattern.view(whole).expand(len(band) // len(pattern)))


def _is_all(band: torch.Tensor, pattern: torch.Tensor) -> bool:
    """Whether a band on the CPU is as it was filled; False where that takes another look.

    It is if it begins with its element and is equal to itself an element further.
    """
    size = len(pattern)
    if band.device.type != "cpu" or not band.is_contiguous():
        return False
    first = bool(torch.equal(band[:size], pattern))
    return first and _MEMORY.memcmp(band.data_ptr(), band.data_ptr() + size, len(band) - size) == 0


_MEMORY = ctypes.CDLL(None)
_MEMORY.memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


def _band_bytes(tensor: torch.Tensor) -> int:
    """Room for a ragged last tile: of elements, and of rows."""
    size = tensor.element_size()
    strides = sorted(stride for stride in tensor.stride() if stride)
    row = strides[1] if len(strides) > 1 else 1
    wanted = max(_LEAST_BYTES, _LEAST_ELEMENTS * size, min(_ROWS * row * size, _MOST_BYTES))
    return -(-wanted // _ALIGNMENT) * _ALIGNMENT


def _is_last(storage: Any) -> bool:
    """Whether no tensor uses a storage any more; False where this torch cannot decide."""
    count = getattr(torch._C, "_storage_Use_Count", None)
    return count is not None and count(storage._cdata) == 1
