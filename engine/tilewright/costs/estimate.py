"""The estimated time of a compiled launch, with what bounds it."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.costs.demand import Demand, demand
from tilewright.costs.machines import machine_of
from tilewright.costs.model import Bound, Estimate, Workload
from tilewright.costs.timing import Machine, spent
from tilewright.costs.traffic import memory_bytes, touched_bytes
from tilewright.costs.workload import workload
from tilewright.hardware import Chip, HardwareError, chip
from tilewright.source.model import Module
from tilewright.targets.model import CompileReport
from tilewright.targets.occupancy import occupancy_of

_BOUNDS: Mapping[str, Bound] = {
    "latency": Bound.LATENCY, "issue": Bound.ISSUE, "special": Bound.ISSUE,
    "tensor": Bound.TENSOR, "shared memory": Bound.SHARED, "near": Bound.NEAR, "l2": Bound.L2,
    "memory": Bound.MEMORY, "atomics": Bound.L2, "dispatch": Bound.DISPATCH,
    "code": Bound.LATENCY, "launch": Bound.LATENCY,
}  # fmt: skip


def estimate(module: Module, report: CompileReport, on: Chip | None = None) -> Estimate | None:
    """The time that a compiled launch of a kernel of ``module`` takes, by estimate.

    Nothing is measured and no device is asked. None where there is nothing to reckon with: the
    kernel was refused or is not in the module, the launch has no grid, or the chip's figures lack
    what occupancy needs.
    """
    kernel = module.kernel(report.kernel)
    if kernel is None or not report.ok or not report.launch.grid:
        return None
    try:
        on = on or chip(report.target)
    except HardwareError:
        return None
    occupancy = occupancy_of(report)
    if occupancy is None or not occupancy.programs:
        return None
    work = workload(module, kernel, report.launch)
    machine = machine_of(on)
    concurrent = machine.units * occupancy.programs
    asked = demand(work, report, on.warp_size, concurrent)
    moved = memory_bytes(work, report.launch, concurrent, machine.l2_read)
    time = spent(asked, machine, occupancy.programs, moved)
    most = max(time.parts, key=lambda name: time.parts[name])
    return Estimate(
        us=time.us,
        bound=_BOUNDS[most],
        roofline_percent=100.0 * min(1.0, _roofline_us(work, asked, report, on, machine) / time.us),
        parts=dict(time.parts),
        notes=work.notes,
    )


def _roofline_us(
    work: Workload, asked: Demand, report: CompileReport, on: Chip, machine: Machine
) -> float:
    """Microseconds of the bytes and operations alone, at the chip's published peaks."""
    bytes_us = operations_us = 0.0
    if on.bandwidth_gbs:
        bytes_us = touched_bytes(work, report.launch) / (on.bandwidth_gbs * 1e3)
    for (_, dtype), flops in asked.flops.items():
        peak = on.peaks.get({"i8": "int8", "fp32": "tf32"}.get(dtype, dtype))
        if peak:
            operations_us += flops * work.programs / (peak * 1e6)
    return max(bytes_us, operations_us)
