"""Configurations that no compiler needs to see: what they need at least is more than there is."""

from __future__ import annotations

from tilewright.costs.model import Dot, Workload
from tilewright.hardware.model import Chip
from tilewright.targets.model import LaunchFacts


def hopeless(work: Workload, launch: LaunchFacts, on: Chip) -> str | None:
    """Why a configuration cannot be good on a chip, by its source alone; None if it may be."""
    warps = int(launch.options.get("num_warps") or 4)
    stages = int(launch.options.get("num_stages") or 1)
    if warps > on.max_warps:
        return f"{warps} warps; a program of {on.id} has at most {on.max_warps}"
    for dot in work.dots:
        why = _accumulator(dot, warps, on) or _operands(dot, stages, on)
        if why is not None:
            return why
    return None


def _accumulator(dot: Dot, warps: int, on: Chip) -> str | None:
    """A product's sum alone fills the registers, so that something must spill."""
    if on.vendor != "NVIDIA" or on.id == "cuda:100":  # AMD has more of them, Blackwell its own
        return None
    registers = dot.m * dot.n // (warps * on.warp_size)
    if registers < on.max_registers:
        return None
    return (
        f"the sum of {dot.m} x {dot.n} takes {registers} registers of each thread; "
        f"there are {on.max_registers}: more warps or smaller tiles"
    )


def _operands(dot: Dot, stages: int, on: Chip) -> str | None:
    """The operands that are under way together do not fit shared memory."""
    if not dot.loops or on.backend != "cuda":
        return None
    item = 4 if "32" in dot.dtype else 1 if dot.dtype.startswith(("fp8", "i8")) else 2
    needed = (dot.m + dot.n) * dot.k * item * max(1, stages - 1)
    if needed <= on.shared_limit:
        return None
    return (
        f"{stages} stages of its operands need {needed} bytes of shared memory or more; "
        f"{on.id} allows {on.shared_limit}"
    )
