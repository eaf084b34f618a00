"""Detectors in host functions that launch kernels."""

from tilewright.analysis.detectors.host_code import (
    algebra,
    buffers,
    layout,
    synchronization,
    weights,
)

__all__ = ["algebra", "buffers", "layout", "synchronization", "weights"]
