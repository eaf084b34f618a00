"""Tilewright: find, fix and prove optimizations of tile kernels."""

__version__ = "0.1.0"
