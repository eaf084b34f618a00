"""Tile inference: kind, shape, element type, strides and affine form of a kernel's values."""

from tilewright.analysis.tiles.model import Affine, Dim, Kind, Shape, Term, TileFacts
from tilewright.analysis.tiles.polynomial import ONE, ZERO, Polynomial

__all__ = ["ONE", "ZERO", "Affine", "Dim", "Kind", "Polynomial", "Shape", "Term", "TileFacts"]
