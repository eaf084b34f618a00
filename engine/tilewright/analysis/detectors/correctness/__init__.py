"""Detectors of faults: what gives wrong results, or does not compile or launch at all.

One file a family of issues; importing this package registers them all.
"""

from tilewright.analysis.detectors.correctness import (
    bounds,
    buffers,
    carried,
    conditions,
    constants,
    descriptors,
    extents,
    grids,
    lanes,
    mask_axes,
    memory_options,
    names,
    overflow,
    races,
    register_modes,
    syntax,
    tile_shapes,
    tuning,
    versions,
)

__all__ = [
    "bounds",
    "buffers",
    "carried",
    "conditions",
    "constants",
    "descriptors",
    "extents",
    "grids",
    "lanes",
    "mask_axes",
    "memory_options",
    "names",
    "overflow",
    "races",
    "register_modes",
    "syntax",
    "tile_shapes",
    "tuning",
    "versions",
]
