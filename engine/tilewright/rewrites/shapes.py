"""Tile shapes of a kernel's names and expressions, in terms of the constexprs that size them.

A shape is a tuple of dimensions: a constexpr's name, an integer, or None where it is neither.
A name has the shape of its first assignment that tells one: Triton forbids changing it.
"""

import ast
from collections.abc import Mapping

from tilewright.analysis.flow import flow_of
from tilewright.analysis.tiles import Dim, Kind, TileFacts, tiles_of
from tilewright.source.model import Kernel, Module

Dimension = str | int | None
Shape = tuple[Dimension, ...]


class Shapes:
    """The shapes of one kernel's names and expressions."""

    def __init__(self, module: Module, kernel: Kernel) -> None:
        self._tiles = tiles_of(module, kernel)
        self._names: dict[str, Shape] = {p.name: () for p in kernel.parameters}
        for name, definitions in flow_of(module, kernel).definitions.items():
            for definition in definitions:
                shape = _named(self._tiles.of(definition.value))
                if shape is not None:
                    self._names.setdefault(name, shape)

    @property
    def names(self) -> Mapping[str, Shape]:
        """Shapes of the names that have one; scalars have the empty shape."""
        return self._names

    def of(self, node: ast.expr | None) -> Shape | None:
        """The shape of an expression, None where it is not known."""
        return None if node is None else _named(self._tiles.at(node))


def _named(facts: TileFacts) -> Shape | None:
    if facts.shape is None or facts.kind in (Kind.BLOCK_POINTER, Kind.DESCRIPTOR):
        return None
    return tuple(_dimension(extent) for extent in facts.shape)


def _dimension(extent: Dim) -> Dimension:
    if isinstance(extent, int):
        return extent
    return str(extent.detail) if extent.op == "param" else None
