"""Deterministic rewrites: each fixes one issue where its preconditions hold, else says why not."""

from functools import cache

from tilewright.rewrites.model import Numerics, Refusal, Rewrite, rewrites_of

__all__ = ["Numerics", "Refusal", "Rewrite", "all_rewrites", "rewrites_for"]


@cache
def all_rewrites() -> tuple[Rewrite, ...]:
    """Every rewrite, in the order of the stages they belong to."""
    # Here, as they need all detectors, and most that import this package do not.
    from tilewright.rewrites import (
        algorithmic,
        autotuning,
        correctness,
        device,
        dtype,
        memory,
        nki,
        options,
        rows,
        swizzle,
    )

    by_stage = (correctness, algorithmic, rows, dtype, memory, device, swizzle, options, autotuning)
    return (*rewrites_of(*by_stage), *nki.REWRITES)


def rewrites_for(issue_id: str) -> tuple[Rewrite, ...]:
    """The rewrites that fix an issue; empty where there is none."""
    return tuple(rewrite for rewrite in all_rewrites() if rewrite.issue == issue_id)
