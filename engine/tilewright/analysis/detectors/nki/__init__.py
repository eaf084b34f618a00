"""Detectors of what goes wrong in NKI kernels: its language rules, and its instructions."""
