"""Detectors of the algorithmic stage: work done more often, or less safely, than needed."""

from tilewright.analysis.detectors.algorithmic import algebra, forms, loads, rows, sums

__all__ = ["algebra", "forms", "loads", "rows", "sums"]
