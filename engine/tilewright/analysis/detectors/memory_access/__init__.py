"""Detectors of the memory stage: what addresses and lifetimes say about the hardware's work."""

from tilewright.analysis.detectors.memory_access import cache, layout, lifetimes, strides

__all__ = ["cache", "layout", "lifetimes", "strides"]
