"""Rewinds: each puts one issue into clean kernels, so that finding and fixing it can be measured.

A site counts only where the result has the issue by its definition; ``Rewind.applies`` says
when that is so.
"""

from functools import cache

from tilewright.rewrites.rewinds import (
    autotuning,
    faults,
    grids,
    host,
    loads,
    options,
    rows,
    spelling,
    types,
    warps,
)
from tilewright.rewrites.rewinds.model import Rewind, Rewound

__all__ = ["Rewind", "Rewound", "all_rewinds"]


@cache
def all_rewinds() -> tuple[Rewind, ...]:
    """Every rewind, by the issue it puts in."""
    found = (
        *spelling.REWINDS,
        *loads.REWINDS,
        *types.REWINDS,
        *host.REWINDS,
        *faults.REWINDS,
        *options.REWINDS,
        *warps.REWINDS,
        *grids.REWINDS,
        *rows.REWINDS,
        *autotuning.REWINDS,
    )
    return tuple(sorted(found, key=lambda rewind: rewind.issue))
