"""Rewrites of NKI kernels: of what breaks a rule of the language, and of what costs time."""

from tilewright.rewrites.model import rewrites_of
from tilewright.rewrites.nki import (
    functions,
    fusions,
    indices,
    loops,
    matmuls,
    motion,
    operands,
    traced_python,
    widths,
)

REWRITES = rewrites_of(
    indices, traced_python, operands, loops, motion, functions, fusions, matmuls, widths
)
