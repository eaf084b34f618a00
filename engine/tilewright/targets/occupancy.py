"""How many programs a compute unit keeps at a time, and what keeps it from more."""

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.hardware.chips import chip
from tilewright.hardware.model import HardwareError, Residency
from tilewright.targets.model import CompileReport

_TENSOR_MEMORY_COLUMNS = 512


@dataclass(frozen=True)
class Occupancy:
    """What a chip can keep of a kernel at a time, if there are programs enough.

    Attributes:
        unit: what the vendor calls a compute unit.
        programs: on one unit at a time.
        warps: of these programs; ``max_warps`` is what a unit has room for.
        allows: programs that each resource has room for: "registers", "shared memory", "warps",
            "programs", "tensor memory".
    """

    unit: str
    programs: int
    warps: int
    max_warps: int
    allows: Mapping[str, int]

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources that have room for no more."""
        return tuple(name for name, count in self.allows.items() if count == self.programs)

    @property
    def share(self) -> float:
        """Part of the unit's warps that are taken."""
        return self.warps / self.max_warps


def occupancy_of(report: CompileReport) -> Occupancy | None:
    """The occupancy of a compiled launch; None if the report or the chip's figures lack a part.

    AMD's scalar registers, which can keep one wave of eight from a SIMD, are not counted.
    """
    try:
        residency = chip(report.target).residency
    except HardwareError:
        return None
    warps = report.details.get("warps")
    if residency is None or not report.ok or not isinstance(warps, int):
        return None
    if report.registers is None or report.shared_bytes is None:
        return None
    columns = report.details.get("tensor_memory_columns", 0)
    return occupancy(
        residency,
        registers=report.registers,
        shared_bytes=report.shared_bytes,
        warps=warps,
        tensor_memory_columns=int(columns),
    )


def occupancy(
    residency: Residency,
    *,
    registers: int,
    shared_bytes: int,
    warps: int,
    tensor_memory_columns: int = 0,
) -> Occupancy:
    """The occupancy of programs of ``warps`` warps that take so much.

    Args:
        registers: of one thread.
        shared_bytes: of one program.
    """
    most = residency.partitions * residency.warps
    allows = {
        "registers": _by_registers(residency, registers, warps),
        "shared memory": _by_shared(residency, shared_bytes),
        "warps": most // warps,
        "programs": residency.programs,
        "tensor memory": _by_tensor_memory(tensor_memory_columns),
    }
    known = {name: count for name, count in allows.items() if count is not None}
    programs = min(known.values())
    return Occupancy(residency.unit, programs, programs * warps, most, known)


def _by_registers(residency: Residency, registers: int, warps: int) -> int:
    taken = _rounded_up(max(1, registers), residency.register_granule)
    room = residency.registers // taken * residency.partitions
    # That a program fits at all is checked as if its last warps took a register file each.
    return room // warps if room >= _rounded_up(warps, residency.warp_granule) else 0


def _by_shared(residency: Residency, shared_bytes: int) -> int | None:
    taken = residency.shared_taken(shared_bytes)
    return residency.shared_bytes // taken if taken else None


def _by_tensor_memory(columns: int) -> int | None:
    return _TENSOR_MEMORY_COLUMNS // columns if columns else None


def _rounded_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
