"""Detectors over interpreted NKI kernels: tiles, memories, index sets, loops, engines."""
