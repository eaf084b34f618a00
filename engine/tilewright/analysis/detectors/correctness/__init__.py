"""Detectors of faults: what gives wrong results, or does not compile or launch at all.

One file a family of issues; importing this package registers them all.
"""

from tilewright.analysis.detectors.correctness import (
    bounds,
    conditions,
    constants,
    extents,
    lanes,
    names,
    overflow,
    syntax,
    tile_shapes,
    versions,
)

__all__ = [
    "bounds",
    "conditions",
    "constants",
    "extents",
    "lanes",
    "names",
    "overflow",
    "syntax",
    "tile_shapes",
    "versions",
]
