"""Detectors of the issues in the taxonomy, one file a stage.

A detector is a pure function from a module and its context to findings. It
stays silent where it is not sure: an unknown value never supports a finding.
"""

from collections.abc import Mapping

from tilewright.analysis.detectors import (
    algorithmic,
    autotuning,
    autotuning_configs,
    block_pointers,
    block_pointers_regular,
    correctness,
    device_specific,
    device_specific_tiles,
    dtype_fix,
    fusion,
    host_code,
    memory_access,
    nki,
    persistent_kernel,
)
from tilewright.analysis.detectors.registry import Detector, Scope, scope_of, table

_FILES = (
    algorithmic,
    autotuning,
    autotuning_configs,
    block_pointers,
    block_pointers_regular,
    correctness,
    device_specific,
    device_specific_tiles,
    dtype_fix,
    fusion,
    host_code,
    memory_access,
    nki,
    persistent_kernel,
)
"""Importing a file registers its detectors."""


__all__ = ["Detector", "Scope", "registered", "scope_of"]


def registered() -> Mapping[str, Detector]:
    """All detectors by issue id."""
    return table()
