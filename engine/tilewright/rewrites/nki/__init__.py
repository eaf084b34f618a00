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
    tracing,
    widths,
)

REWRITES: tuple[Rewrite, ...] = (
    *indices.REWRITES,
    *tracing.REWRITES,
    *operands.REWRITES,
    *loops.REWRITES,
    *motion.REWRITES,
    *functions.REWRITES,
    *fusions.REWRITES,
    *matmuls.REWRITES,
    *widths.REWRITES,
)
