"""Rewrites of NKI kernels: what a rule of the language fixes, from the interpreted kernel."""

from tilewright.rewrites.model import Rewrite
from tilewright.rewrites.nki import indices, operands, tracing

REWRITES: tuple[Rewrite, ...] = (*indices.REWRITES, *tracing.REWRITES, *operands.REWRITES)
