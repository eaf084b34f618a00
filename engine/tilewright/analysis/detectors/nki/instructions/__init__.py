"""Detectors over interpreted NKI kernels: tiles, memories, index sets, loops, engines."""

from tilewright.analysis.detectors.nki.instructions import (
    capacity,
    elementwise,
    extents,
    fusing,
    hazards,
    matmuls,
    memories,
    operands,
    regions,
    traffic,
)

FILES = (
    capacity,
    elementwise,
    extents,
    fusing,
    hazards,
    matmuls,
    memories,
    operands,
    regions,
    traffic,
)
"""Importing a file registers its detectors."""
