"""Detectors of what goes wrong in NKI kernels: its language rules, and its instructions."""

from tilewright.analysis.detectors.nki import instructions, language

FILES = (instructions, language)
"""Importing a file registers its detectors."""
