"""Tile inference: kind, shape, element type, strides and affine form of a kernel's values."""

from tilewright.analysis.tiles.infer import Tiles, tiles_of
from tilewright.analysis.tiles.model import Affine, Dim, Kind, Shape, Term, TileFacts
from tilewright.analysis.tiles.polynomial import ONE, ZERO, Polynomial

__all__ = [
    "ONE",
    "ZERO",
    "Affine",
    "Dim",
    "Kind",
    "Polynomial",
    "Shape",
    "Term",
    "TileFacts",
    "Tiles",
    "tiles_of",
]
