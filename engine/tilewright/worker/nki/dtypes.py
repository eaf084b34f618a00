"""The types of NKI: how wide, how they round, what two of them promote to.

Floats narrower than fp32 are kept in float32 arrays whose values are those of the narrow type: a
read costs nothing and a store rounds, as on the chip, whose engines compute in fp32. All round to
nearest, ties to even. fp8 of four exponent bits has infinities and ends at 240 (the vendor's
range); that overflow gives an infinity and that subnormals are kept is uncertain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
Rounding = Callable[[Array], Array]


class DType:
    """A type of elements. It equals the numpy type or the name of the same meaning.

    Attributes:
        itemsize: bytes of one element on the chip.
        kind: "f", "i", "u" or "b", as numpy's.
        storage: the numpy type that holds it here.
        rounding: of a float32 array to this type's values; None where the array needs none.
    """

    __slots__ = ("itemsize", "kind", "max", "min", "name", "rounding", "storage")

    def __init__(
        self, name: str, itemsize: int, kind: str, storage: Any, rounding: Rounding | None = None
    ) -> None:
        self.name = name
        self.itemsize = itemsize
        self.kind = kind
        self.storage: np.dtype[Any] = np.dtype(storage)
        self.rounding = rounding
        self.min, self.max = _ends(name, kind, self.storage)

    @property
    def dtype(self) -> np.dtype[Any]:
        """For numpy, which takes any object that has it as a type."""
        return self.storage

    def __eq__(self, other: object) -> bool:
        return self is other or _NAMED.get(_name(other)) is self

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    def __call__(self, value: Any) -> Any:
        """The value rounded to this type, as ``np.float32(value)`` does."""
        return self.cast(np.asarray(value))[()]

    def cast(self, values: Array) -> Array:
        """The values in this type; the array itself where nothing changes.

        Floats that become integers round to nearest, ties to even (uncertain), and saturate.
        """
        if self.kind != "f":
            return self._integers(values)
        plain = values if values.dtype == np.float32 else values.astype(np.float32)
        return plain if self.rounding is None else self.rounding(plain)

    def _integers(self, values: Array) -> Array:
        if values.dtype == self.storage:
            return values
        if self.kind == "b":
            return np.asarray(values != 0)
        if values.dtype.kind == "f":
            ends = np.iinfo(self.storage)
            whole = np.rint(np.nan_to_num(values.astype(np.float64), nan=0.0))
            return np.clip(whole, ends.min, ends.max).astype(self.storage)
        return values.astype(self.storage)


def _ends(name: str, kind: str, storage: np.dtype[Any]) -> tuple[float, float]:
    if kind == "f":
        largest = _LARGEST.get(name, float(np.finfo(np.float32).max))
        return -largest, largest
    if kind == "b":
        return 0, 1
    ends = np.iinfo(storage)
    return int(ends.min), int(ends.max)


_LARGEST: Final = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "tfloat32": 3.4011621342146535e38,
    "float8_e4m3": 240.0,
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
}


def round_mantissa(values: Array, dropped: int) -> Array:
    """Floats without the last ``dropped`` bits of their mantissa: nearest, ties to even."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    odd = (bits >> np.uint32(dropped)) & np.uint32(1)
    raised = bits + (odd + np.uint32((1 << (dropped - 1)) - 1))
    kept = raised & np.uint32((0xFFFFFFFF << dropped) & 0xFFFFFFFF)
    return np.where(np.isnan(values), values, kept.view(np.float32))


def round_half(values: Array) -> Array:
    """Floats of fp16."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32)


def round_fp8(values: Array, mantissa: int, smallest: int, largest: float, beyond: float) -> Array:
    """Floats of eight bits.

    Args:
        mantissa: bits after the point.
        smallest: exponent of the smallest normal number; below it the step stays the same.
        largest: finite number.
        beyond: what a number becomes that rounds to more than the largest.
    """
    step = np.float32(2.0 ** (smallest - mantissa))
    normal = round_mantissa(values, 23 - mantissa)
    small = np.abs(values) < np.float32(2.0**smallest)
    rounded = np.where(small, np.rint(values / step) * step, normal)
    over = np.abs(rounded) > largest
    return np.where(over, np.copysign(np.float32(beyond), values), rounded).astype(np.float32)


float32: Final = DType("float32", 4, "f", np.float32)
tfloat32: Final = DType("tfloat32", 4, "f", np.float32, partial(round_mantissa, dropped=13))
bfloat16: Final = DType("bfloat16", 2, "f", np.float32, partial(round_mantissa, dropped=16))
float16: Final = DType("float16", 2, "f", np.float32, round_half)
float8_e4m3: Final = DType(
    "float8_e4m3",
    1,
    "f",
    np.float32,
    partial(round_fp8, mantissa=3, smallest=-6, largest=240.0, beyond=np.inf),
)
float8_e4m3fn: Final = DType(
    "float8_e4m3fn",
    1,
    "f",
    np.float32,
    partial(round_fp8, mantissa=3, smallest=-6, largest=448.0, beyond=np.nan),
)
float8_e5m2: Final = DType(
    "float8_e5m2",
    1,
    "f",
    np.float32,
    partial(round_fp8, mantissa=2, smallest=-14, largest=57344.0, beyond=np.inf),
)
int8: Final = DType("int8", 1, "i", np.int8)
int16: Final = DType("int16", 2, "i", np.int16)
int32: Final = DType("int32", 4, "i", np.int32)
uint8: Final = DType("uint8", 1, "u", np.uint8)
uint16: Final = DType("uint16", 2, "u", np.uint16)
uint32: Final = DType("uint32", 4, "u", np.uint32)
bool_: Final = DType("bool", 1, "b", np.bool_)

ALL: Final = (
    float32, tfloat32, bfloat16, float16, float8_e4m3, float8_e4m3fn, float8_e5m2,
    int8, int16, int32, uint8, uint16, uint32, bool_,
)  # fmt: skip
_NAMED: Final = {dtype.name: dtype for dtype in ALL} | {"bool_": bool_}
WIDE: Final = {"float64": float32, "int64": int32, "uint64": uint32}


def _name(value: object) -> str:
    if isinstance(value, DType):
        return value.name
    if isinstance(value, str):
        return value.rpartition(".")[2]
    if isinstance(value, type):
        return {float: "float32", int: "int32", bool: "bool"}.get(value, value.__name__)
    return str(getattr(value, "name", None) or value).rpartition(".")[2]


def find(value: object) -> DType | None:
    """The type that a user's value names: ours, numpy's, torch's, or a name."""
    return value if isinstance(value, DType) else _NAMED.get(_name(value))


def is_wide(value: object) -> bool:
    """Whether it names a 64-bit type, which the chip has not."""
    return _name(value) in WIDE


def promote(first: DType, second: DType) -> DType:
    """The type of a result of both (the vendor's table of promotion)."""
    if first is second:
        return first
    if first.kind == "f" or second.kind == "f":
        return _promote_floats(first, second)
    return _promote_integers(first, second)


def _promote_floats(first: DType, second: DType) -> DType:
    if first.kind != second.kind:
        return first if first.kind == "f" else second
    if first.itemsize != second.itemsize:
        return first if first.itemsize > second.itemsize else second
    return {1: bfloat16, 2: float32, 4: float32}[first.itemsize]


def _promote_integers(first: DType, second: DType) -> DType:
    if first.kind == "b" or second.kind == "b":
        return second if first.kind == "b" else first
    if first.kind == second.kind:
        return first if first.itemsize >= second.itemsize else second
    signed, unsigned = (first, second) if first.kind == "i" else (second, first)
    if signed.itemsize > unsigned.itemsize:
        return signed
    return {1: int16, 2: int32, 4: float32}[unsigned.itemsize]
