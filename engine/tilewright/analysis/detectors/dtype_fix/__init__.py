"""Detectors of the dtype stage: types wider, or narrower, than the data needs."""

from tilewright.analysis.detectors.dtype_fix import doubles, halves, operands

__all__ = ["doubles", "halves", "operands"]
