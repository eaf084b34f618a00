"""The least time that a chip needs for the bytes and operations of some work.

The roofline of Williams, Waterman and Patterson ("Roofline: an insightful visual performance model
for multicore architectures", 2009): the longer of the bytes over the bandwidth and the operations
over the rate, at the data sheet's peaks.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.hardware.model import Chip

_PEAK_NAMES: Mapping[str, str] = {
    "i8": "int8", "u8": "int8", "fp8e5": "fp8", "fp8e4nv": "fp8", "fp8e4b8": "fp8",
    "fp8e5b16": "fp8", "fp32": "tf32",
}  # fmt: skip
_NO_TENSOR = {"fp32": "fp32", "fp64": "fp64"}
VECTOR = "fp32"


@dataclass(frozen=True)
class Roof:
    """What some work takes at a chip's peaks. None where a figure is not known.

    Attributes:
        bytes, flop: of the work.
        peak_bytes: a second; peak_flop: a second, at ``rate`` (an element type of the chip's).
    """

    bytes: float | None
    flop: float | None
    peak_bytes: float | None
    peak_flop: float | None
    rate: str

    @property
    def memory_us(self) -> float | None:
        return None if not self.bytes or not self.peak_bytes else self.bytes / self.peak_bytes * 1e6

    @property
    def arithmetic_us(self) -> float | None:
        return None if not self.flop or not self.peak_flop else self.flop / self.peak_flop * 1e6

    @property
    def us(self) -> float | None:
        """The longer of both; None where neither is known."""
        known = [us for us in (self.memory_us, self.arithmetic_us) if us is not None]
        return max(known, default=None)

    @property
    def is_memory(self) -> bool:
        """Whether the bytes take longer than the operations."""
        return (self.memory_us or 0.0) >= (self.arithmetic_us or 0.0)

    @property
    def intensity(self) -> float | None:
        """Operations a byte."""
        return self.flop / self.bytes if self.flop and self.bytes else None

    @property
    def ridge(self) -> float | None:
        """Operations a byte from which on arithmetic is the roof."""
        if not self.peak_flop or not self.peak_bytes:
            return None
        return self.peak_flop / self.peak_bytes


def peak_of(chip: Chip, dtype: str, *, tensor: bool) -> tuple[str, float | None]:
    """(the rate's name, operations a second) for products of an element type."""
    name = _PEAK_NAMES.get(dtype, dtype)
    if not tensor:
        name = _NO_TENSOR.get(dtype, VECTOR)
    peak = chip.peaks.get(name)
    return name, peak * 1e12 if peak else None


def roof_of(
    chip: Chip,
    bytes_: float | None,
    flop: float | None,
    dot_flop: Mapping[str, float],
    *,
    tensor: bool = True,
) -> Roof:
    """The roof of some work on a chip.

    Args:
        flop: all operations; their products' type decides the rate, fp32 vectors without any.
        tensor: whether products use the tensor unit.
    """
    dtype = max(dot_flop, key=lambda name: dot_flop[name], default=None)
    if dtype is None:
        name, peak = VECTOR, (chip.peaks.get(VECTOR) or 0.0) * 1e12 or None
    else:
        name, peak = peak_of(chip, dtype, tensor=tensor)
    bandwidth = chip.bandwidth_gbs * 1e9 if chip.bandwidth_gbs else None
    return Roof(bytes_, flop, bandwidth, peak, name)
