"""Detectors of what goes wrong in NKI kernels, one file a family of issues."""

from tilewright.analysis.detectors.nki import (
    accumulation,
    allocation,
    control_flow,
    dataflow,
    indexing,
    instructions,
    launches,
    masks,
    names,
    operands,
    results,
    scoping,
)

FILES = (
    accumulation,
    allocation,
    control_flow,
    dataflow,
    indexing,
    instructions,
    launches,
    masks,
    names,
    operands,
    results,
    scoping,
)
"""Importing a file registers its detectors."""
