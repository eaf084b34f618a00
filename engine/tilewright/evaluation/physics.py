"""What no kernel can beat: the time that a chip needs to move a problem's bytes and do its sums."""

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.devices.model import DeviceInfo
from tilewright.hardware.chips import chip
from tilewright.hardware.model import Chip, HardwareError
from tilewright.problems.model import Case

SHARE = 0.95
"""Of the floor: figures of chips and specs are rounded."""

# Which of a chip's peaks bounds arithmetic on a type; fp32 may use the tensor cores' tf32.
_PEAKS: Mapping[str, tuple[str, ...]] = {
    "float64": ("fp64",),
    "float32": ("tf32", "fp32"),
    "float16": ("fp16",),
    "bfloat16": ("bf16", "fp16"),
}


@dataclass(frozen=True)
class Bound:
    """The least time of one call in microseconds, and where it comes from."""

    us: float
    why: str


@dataclass(frozen=True)
class CaseRoof:
    """The work of one call and the peaks of the chip it runs on.

    Attributes:
        flop, bytes: of the spec.
        peak_flop, peak_bytes: a second, by the chip's data sheet.
    """

    chip: str
    flop: float
    bytes: float
    peak_flop: float
    peak_bytes: float


def case_roof(case: Case, info: DeviceInfo) -> CaseRoof | str:
    """The roof of a case on a device; where it is not known, why, in a sentence."""
    found = _chip(info)
    if found is None:
        return f"the peaks of {info.name} are not known"
    if not case.flop or not case.mem_bytes:
        return f"the spec gives no `flop` and `mem_bytes` for {case.name}"
    peak = _peak(case, found)
    if peak is None or found.bandwidth_gbs is None:
        return f"a peak of {found.chip} for the types of {case.name} is not known"
    return CaseRoof(found.chip, case.flop, case.mem_bytes, peak * 1e12, found.bandwidth_gbs * 1e9)


def least_time(case: Case, info: DeviceInfo) -> Bound | None:
    """The least time of a case on a device; None where the spec or the chip's figures lack.

    Bytes of the spec beyond what the last-level cache may hold over memory bandwidth, or operations
    over the peak of the inputs' widest rate, whichever takes longer. Figures count only for the
    very product they are of.
    """
    found = _chip(info)
    if found is None:
        return None
    bounds = [bound for bound in (_traffic(case, found), _arithmetic(case, found)) if bound]
    return max(bounds, key=lambda bound: bound.us, default=None)


def _chip(info: DeviceInfo) -> Chip | None:
    if info.target is None:
        return None
    try:
        found = chip(info.target)
    except HardwareError:
        return None
    product = found.chip.split()[0]
    return found if product.lower() in info.name.lower().split() else None


def _traffic(case: Case, found: Chip) -> Bound | None:
    if case.mem_bytes is None or found.bandwidth_gbs is None or found.l2_bytes is None:
        return None
    beyond = case.mem_bytes - found.l2_bytes
    if beyond <= 0:
        return None
    us = beyond / (found.bandwidth_gbs * 1e3)
    return Bound(us, f"{case.mem_bytes / 1e6:.0f} MB at {found.bandwidth_gbs:.0f} GB/s")


def _arithmetic(case: Case, found: Chip) -> Bound | None:
    peak = _peak(case, found)
    if case.flop is None or peak is None:
        return None
    us = case.flop / (peak * 1e6)
    return Bound(us, f"{case.flop / 1e9:.1f} GFLOP at {peak:.0f} TFLOP/s")


def _peak(case: Case, found: Chip) -> float | None:
    """Operations (1e12 a second) on the inputs' widest rate; None where one is not known."""
    tensors = [given for given in case.inputs if given.value is None and "float" in given.dtype]
    if not tensors or any(given.dtype not in _PEAKS for given in tensors):
        return None
    peaks = [found.peaks.get(name) for given in tensors for name in _PEAKS[given.dtype]]
    known = [peak for peak in peaks if peak]
    return max(known) if len(known) == len(peaks) else None
