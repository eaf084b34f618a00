"""Tile inference: kind, shape, element type, strides and affine form of a kernel's values."""

from tilewright.analysis.tiles.infer import Tiles, created_shapes, tiles_of
from tilewright.analysis.tiles.model import Affine, Constant, Dim, Kind, Shape, Term, TileFacts
from tilewright.analysis.tiles.polynomial import ONE, ZERO, Polynomial
from tilewright.analysis.tiles.spelling import (
    spell,
    spell_affine,
    spell_extent,
    spell_polynomial,
    spell_shape,
)

__all__ = [
    "ONE",
    "ZERO",
    "Affine",
    "Constant",
    "Dim",
    "Kind",
    "Polynomial",
    "Shape",
    "Term",
    "TileFacts",
    "Tiles",
    "created_shapes",
    "spell",
    "spell_affine",
    "spell_extent",
    "spell_polynomial",
    "spell_shape",
    "tiles_of",
]
