"""Chips as the estimate uses them: published figures, and constants that were fitted.

Constants marked as fitted were chosen to order what one H200 measured of half of the kernels of
``benchmarks/static_cost``; ``benchmarks/README.md`` says which half and how the other half fares.
Of other chips the published figures are used with the same constants: their order was not checked
against a device.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.costs.timing import Machine
from tilewright.hardware import Chip

_MEMORY_SHARE = 0.867
"""Of the published bandwidth; fitted."""
_CLOCK_SHARE = 0.884
"""Of the highest clock, kept under load; 1750 MHz of the H200's 1980."""
_CLOCK_MHZ = 1980
"""Where a chip's clock is not known."""
_L2_OVER_MEMORY = 2.31
"""Bandwidth of the cache that all units share over that of memory, where it is not published;
fitted."""
_L2_SHARE = 0.839
"""Of the shared cache, that keeps what was touched; fitted."""
_L2_AGAIN_SHARE = 0.5
"""Of the shared cache, that keeps what is read again after much else: it is in two halves that each
keep a copy of what their units read (NVIDIA A100 architecture whitepaper, 2020)."""
_CODE_NEAR = 12 * 1024
"""Bytes of a scheduler's own instruction cache; Volta's, by Jia et al., "Dissecting the NVIDIA
Volta GPU Architecture via Microbenchmarking", 2018. Newer chips' are not published."""
_CODE_FAR = 1.0
"""Chosen on all kernels, of 0, 0.5, 1 and 1.5."""
_NEAR_SHARE = 0.897
"""Of a unit's own memory, that keeps what its programs touched; fitted."""
_ISSUE_SHARE = 0.712
"""Of one instruction a cycle and scheduler, as PTX counts instructions; fitted."""
_TENSOR_SHARE = 0.829
"""Of the peak rate, by instructions that the chip's peak is stated for; fitted."""
_OLD_TENSOR_SHARE = 0.684
"""Of the peak rate, by ``mma`` on chips that have ``wgmma`` or ``tcgen05``; fitted on Hopper."""
_SHARED_BYTES = 128
_SPECIAL_LANES = 16
_FMA_FLOPS = 256.0
_L2_BYTES = 32e6
_BANDWIDTH_GBS = 1000.0
_HALVES = ("fp16", "bf16")
_PEAK_NAMES: Mapping[str, str] = {"i8": "int8", "fp32": "tf32", "fp8e5": "fp8", "fp8e4nv": "fp8"}
_NEW = ("wgmma", "tcgen05_mma")


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
        shared=0.964 * ((rates.shared_bytes if rates else None) or _SHARED_BYTES),
        near=125.8,
        issue=_ISSUE_SHARE * (residency.partitions if residency else 4),
        special=1.48 * ((rates.special_lanes if rates else None) or _SPECIAL_LANES),
        launch_us=(rates.launch_us if rates else None) or 4.13,
        start=111.0,
        latency=545.0,
        step=0.98,
        barrier=150.0,
        product=27.8,
        atomic=1.47,
        request=0.264,
        wavefront=0.73,
        spill=0.0264,
        dispatch=0.966,
        code=0.0734,
        code_most=64260.0,
        norm=2.72,
        code_near=_CODE_NEAR,
        code_far=_CODE_FAR,
        l2_again=_L2_AGAIN_SHARE * (chip.l2_bytes or _L2_BYTES),
    )


def _tensor(chip: Chip, clock: float) -> Mapping[tuple[str, str], float]:
    """Operations of one unit a cycle by (kind, element type)."""
    found: dict[tuple[str, str], float] = {("fma", "fp32"): _FMA_FLOPS}
    has_new = chip.backend == "cuda" and chip.arch.isdigit() and 90 <= int(chip.arch) < 120
    for dtype in ("fp16", "bf16", "fp32", "i8", "fp8e5", "fp8e4nv", "fp64"):
        rate = _unit_rate(chip, _PEAK_NAMES.get(dtype, dtype), clock)
        if rate is None:
            continue
        for kind in (*_NEW, "mma", "mfma", "wmma", "dpas"):
            share = _OLD_TENSOR_SHARE if has_new and kind not in _NEW else _TENSOR_SHARE
            found[kind, dtype] = share * rate
    return found


def _unit_rate(chip: Chip, dtype: str, clock: float) -> float | None:
    if chip.rates is not None and dtype in chip.rates.tensor_flops:
        return float(chip.rates.tensor_flops[dtype])
    peak = chip.peaks.get(dtype)
    return None if peak is None else peak * 1e6 * _CLOCK_SHARE / (chip.compute_units * clock)
