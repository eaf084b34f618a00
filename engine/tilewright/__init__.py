"""Tilewright: find, apply and verify optimizations for tile kernels."""

__version__ = "0.1.0"
