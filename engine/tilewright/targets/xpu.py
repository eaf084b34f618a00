"""Descriptions of Intel chips for Triton and ocloc, for cross-compilation.

Sub-group sizes: Intel oneAPI GPU Optimization Guide. fp64, two-dimensional block messages and
matrix instructions: what ``ocloc query CL_DEVICE_EXTENSIONS`` answers for the chip. Everything that
``knowledge/hardware`` states is taken from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.hardware.chips import chip
from tilewright.targets.model import Target

_MAX_WORK_ITEMS = 1024


@dataclass(frozen=True)
class XeTraits:
    """One architecture: ``device`` is ocloc's name, ``register_bytes`` the width of a register."""

    device: str
    sub_group_sizes: tuple[int, ...] = (16, 32)
    vector_engines: int = 8
    register_bytes: int = 64
    fp64: bool = True
    tf32: bool = True
    block_2d: bool = True


TRAITS = {
    "pvc": XeTraits("pvc"),
    "dg2": XeTraits("dg2-g10", (8, 16, 32), 16, 32, fp64=False, tf32=False, block_2d=False),
    "lnl": XeTraits("lnl-m"),
    "bmg-g21": XeTraits("bmg-g21"),
    "bmg-g31": XeTraits("bmg-g31"),
    "ptl": XeTraits("ptl-h"),
}


def describe(target: Target) -> dict[str, Any]:
    """The part of a ``compile_xpu`` job's target that follows from the chip."""
    about, traits = chip(target), TRAITS[target.arch]
    prefix = "has_subgroup_matrix_multiply_accumulate"
    return {
        "backend": target.backend,
        "arch": target.arch,
        "device": traits.device,
        "register_bytes": traits.register_bytes,
        "shared_limit": about.shared_limit,
        "properties": {
            "name": about.chip,
            "vendor": "Intel",
            "version": "",
            "gpu_eu_count": about.compute_units * traits.vector_engines,
            "gpu_subslice_count": about.compute_units,
            "max_work_group_size": _MAX_WORK_ITEMS,
            "max_num_sub_groups": about.max_warps,
            "sub_group_sizes": list(traits.sub_group_sizes),
            "has_fp64": traits.fp64,
            prefix: True,
            f"{prefix}_tensor_float32": traits.tf32,
            "has_subgroup_2d_block_io": traits.block_2d,
            "has_bfloat16_conversions": True,
        },
    }
