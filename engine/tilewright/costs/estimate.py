"""The estimated time of a compiled launch, with what bounds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.costs.demand import Demand, demand
from tilewright.costs.model import Bound, Estimate, Workload
from tilewright.costs.phases import NEW
from tilewright.costs.timing import Machine, launch_time
from tilewright.costs.traffic import memory_bytes, touched_bytes
from tilewright.costs.workload import workload
from tilewright.hardware.chips import chip
from tilewright.hardware.model import Chip, HardwareError
from tilewright.source.model import Module
from tilewright.targets.model import CompileReport
from tilewright.targets.occupancy import occupancy_of

_BOUNDS: Mapping[str, Bound] = {
    "latency": Bound.LATENCY, "issue": Bound.ISSUE, "special": Bound.ISSUE,
    "tensor": Bound.TENSOR, "shared memory": Bound.SHARED, "near": Bound.NEAR, "l2": Bound.L2,
    "memory": Bound.MEMORY, "atomics": Bound.L2, "dispatch": Bound.DISPATCH,
    "code": Bound.LATENCY, "launch": Bound.LATENCY,
}  # fmt: skip
_MEMORY_SHARE = 1.034
"""Of the published bandwidth; fitted, above 1 as parts are added up and what is crowded takes
longer."""
_CLOCK_SHARE = 0.8864
"""Of the highest clock, kept under load; fitted."""
_CLOCK_MHZ = 1980
"""Where a chip's clock is not known."""
_L2_OVER_MEMORY = 4.41
"""Bandwidth of the cache that all units share over that of memory, where it is not published;
fitted."""
_L2_SHARE = 0.839
"""Of the shared cache, that keeps what was touched; fitted."""
_L2_AGAIN_SHARE = 0.4766
"""Of the shared cache, that keeps what is read again after much else; fitted."""
_L2_READ_SHARE = 0.5
"""Of the shared cache, that keeps what several programs read: it is in two halves that each keep a
copy of what their units read (NVIDIA A100 architecture whitepaper, 2020)."""
_CODE_NEAR = 10490.0
"""Bytes of code that each scheduler keeps by itself; fitted. Volta's cache for it has 12 KiB (Jia
et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018)."""
_CODE_FAR = 0.6497
"""How much longer an instruction takes that is not kept there, as part of its time; fitted."""
_NEAR_SHARE = 0.5988
"""Of a unit's own memory, that keeps what its programs touched; fitted."""
_ISSUE_SHARE = 1.313
"""Of one instruction a cycle and scheduler, as PTX counts instructions; fitted."""
_TENSOR_SHARE = 1.047
"""Of the peak rate, by instructions that the chip's peak is stated for; fitted."""
_OLD_TENSOR_SHARE = 0.8969
"""Of the peak rate, by ``mma`` on chips that have ``wgmma`` or ``tcgen05``; fitted on Hopper."""
_SHARED_SHARE = 1.182
"""Of the published bandwidth of shared memory; fitted."""
_SHARED_BYTES = 128
_SPECIAL_LANES = 16
_FMA_FLOPS = 256.0
_L2_BYTES = 32e6
_BANDWIDTH_GBS = 1000.0
_HALVES = ("fp16", "bf16")
_PEAK_NAMES: Mapping[str, str] = {"i8": "int8", "fp32": "tf32", "fp8e5": "fp8", "fp8e4nv": "fp8"}


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
    time = launch_time(asked, machine, occupancy.programs, moved)
    most = max(time.parts, key=lambda name: time.parts[name])
    floor = _floor(work, asked, report, on)
    return Estimate(
        us=time.us,
        bound=_BOUNDS[most],
        roofline_percent=100.0 * min(1.0, floor.us / time.us),
        parts=dict(time.parts),
        notes=work.notes,
        flop=floor.flop,
        bytes=floor.bytes,
        rate=floor.rate,
    )


@dataclass(frozen=True)
class _Floor:
    """What bytes and operations alone ask of a chip at its published peaks."""

    us: float
    flop: float
    bytes: float
    rate: str


def _floor(work: Workload, asked: Demand, report: CompileReport, on: Chip) -> _Floor:
    bytes_ = touched_bytes(work, report.launch)
    bytes_us = bytes_ / (on.bandwidth_gbs * 1e3) if on.bandwidth_gbs else 0.0
    flops: dict[str, float] = {}
    for (_, dtype), count in asked.flops.items():
        rate = {"i8": "int8", "fp32": "tf32"}.get(dtype, dtype)
        flops[rate] = flops.get(rate, 0.0) + count * work.programs
    times = {
        rate: count / (peak * 1e6) for rate, count in flops.items() if (peak := on.peaks.get(rate))
    }
    longest = max(times, key=lambda rate: times[rate], default="")
    return _Floor(max(bytes_us, sum(times.values())), sum(flops.values()), bytes_, longest)


def machine_of(chip: Chip) -> Machine:
    """A chip's figures for the estimate; what is not published is taken from a like chip."""
    rates = chip.rates
    clock = _CLOCK_SHARE * ((rates.clock_mhz if rates else None) or _CLOCK_MHZ)
    memory = _MEMORY_SHARE * (chip.bandwidth_gbs or _BANDWIDTH_GBS) * 1e3
    known_l2 = rates.l2_bandwidth_gbs if rates else None
    residency = chip.residency
    return Machine(
        units=chip.compute_units,
        clock=clock,
        memory=memory,
        l2=known_l2 * 1e3 if known_l2 else _L2_OVER_MEMORY * memory / _MEMORY_SHARE,
        l2_bytes=_L2_SHARE * (chip.l2_bytes or _L2_BYTES),
        near_bytes=_NEAR_SHARE * chip.shared_per_unit,
        tensor=dict(_tensor(chip, clock)),
        shared=_SHARED_SHARE * ((rates.shared_bytes if rates else None) or _SHARED_BYTES),
        near=149.4,
        issue=_ISSUE_SHARE * (residency.partitions if residency else 4),
        special=1.54 * ((rates.special_lanes if rates else None) or _SPECIAL_LANES),
        launch_us=(rates.launch_us if rates else None) or 4.141,
        start=81.48,
        latency=281.4,
        cold=592.6,
        descriptor=190.8,
        spare=14.05,
        step=0.3618,
        barrier=109.6,
        barrier_growth=0.5161,
        product=27.74,
        new_product=154.1,
        atomic=12.8,
        slices=248.3,
        request=0.2637,
        wavefront=0.6999,
        spill=0.03049,
        dispatch=1.159,
        run=15.47,
        again=0.2134,
        crowd=0.05621,
        many=33630.0,
        code=0.0542,
        code_most=64000.0,
        code_near=_CODE_NEAR,
        code_far=_CODE_FAR,
        l2_again=_L2_AGAIN_SHARE * (chip.l2_bytes or _L2_BYTES),
        l2_read=_L2_READ_SHARE * (chip.l2_bytes or _L2_BYTES),
        norm=2.299,
        overlap=1.24,
        overlap_ahead=1.882,
        overlap_growth=0.324,
        overlap_rounds=0.491,
        whole=0.6357,
        ramp=0.345,
    )


def _tensor(chip: Chip, clock: float) -> Mapping[tuple[str, str], float]:
    """Operations of one unit a cycle by (kind, element type)."""
    found: dict[tuple[str, str], float] = {("fma", "fp32"): _FMA_FLOPS}
    has_new = chip.backend == "cuda" and chip.arch.isdigit() and 90 <= int(chip.arch) < 120
    for dtype in ("fp16", "bf16", "fp32", "i8", "fp8e5", "fp8e4nv", "fp64"):
        rate = _unit_rate(chip, _PEAK_NAMES.get(dtype, dtype), clock)
        if rate is None:
            continue
        for kind in (*NEW, "mma", "mfma", "wmma", "dpas"):
            share = _OLD_TENSOR_SHARE if has_new and kind not in NEW else _TENSOR_SHARE
            found[kind, dtype] = share * rate
    return found


def _unit_rate(chip: Chip, dtype: str, clock: float) -> float | None:
    if chip.rates is not None and dtype in chip.rates.tensor_flops:
        return float(chip.rates.tensor_flops[dtype])
    peak = chip.peaks.get(dtype)
    return None if peak is None else peak * 1e6 * _CLOCK_SHARE / (chip.compute_units * clock)
