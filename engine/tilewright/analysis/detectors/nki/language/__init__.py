"""Detectors of NKI's language rules, one file a family of issues: names, flow, masks, loops."""

from tilewright.analysis.detectors.nki.language import (
    accumulation,
    allocation,
    arguments,
    control_flow,
    dataflow,
    indexing,
    launches,
    masks,
    names,
    results,
    scoping,
)

FILES = (
    accumulation,
    allocation,
    arguments,
    control_flow,
    dataflow,
    indexing,
    launches,
    masks,
    names,
    results,
    scoping,
)
"""Importing a file registers its detectors."""
