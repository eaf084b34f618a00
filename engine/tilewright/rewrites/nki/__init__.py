"""Rewrites of NKI kernels: of what breaks a rule of the language, and of what costs time."""

from tilewright.rewrites.model import Rewrite
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

REWRITES: tuple[Rewrite, ...] = (
    *indices.REWRITES,
    *traced_python.REWRITES,
    *operands.REWRITES,
    *loops.REWRITES,
    *motion.REWRITES,
    *functions.REWRITES,
    *fusions.REWRITES,
    *matmuls.REWRITES,
    *widths.REWRITES,
)
