"""Subscripts of tensors: which part they pick, and the shape of the tile that results."""

import ast
from collections.abc import Sequence

from tilewright.analysis.nki.affine import ONE, ZERO, Affine, Symbol, SymbolKind
from tilewright.analysis.nki.model import Index, IndexKind, Shape, View
from tilewright.analysis.nki.values import ELLIPSIS, Array, Item, Stretch

FULL = Index(IndexKind.FULL, None)
_UNKNOWN = Index(IndexKind.UNKNOWN, None)


def part_of(view: View, items: Sequence[Item], node: ast.AST) -> View:
    """``view[items]``."""
    sides = _sides(view)
    expanded = _expanded(items, None if sides is None else len(sides))
    if expanded is None:
        return View(view.storage, None, None, view.dtype, node=node)
    indices = tuple(_index(item) for item in expanded)
    missing = None if sides is None else len(sides) - len(indices)
    left = _blocks_left(view, indices)
    shape = _shape(view, expanded, indices, sides, missing)
    return View(
        view.storage,
        _composed(view, indices),
        shape,
        view.dtype,
        blocks=left,
        missing=None if ELLIPSIS in items else missing,
        node=node,
        broadcast=view.broadcast,
    )


def lane(extent: Affine, axis: int, rank: int) -> Symbol:
    """The lane that runs along an axis: index arrays of one shape share it."""
    return Symbol(("lane", axis, rank, extent), SymbolKind.LANE, "lane", extent, axis)


def extent_of(index: Index, side: Affine | None) -> Affine | None:
    """How many indices it picks along its dimension."""
    if index.kind is IndexKind.FULL:
        return side
    if index.kind is IndexKind.POINT:
        return ONE
    if index.kind is IndexKind.SLICE:
        return next((s.extent for s in index.lanes), None)
    return None


def _sides(view: View) -> Shape | None:
    if view.whole:
        return view.storage.shape
    if view.indices is not None and view.storage.shape is not None and _leading_points(view):
        return view.storage.shape[len(view.indices) :]
    return view.shape


def _leading_points(view: View) -> bool:
    assert view.indices is not None
    return all(index.kind is IndexKind.POINT for index in view.indices)


def _expanded(items: Sequence[Item], rank: int | None) -> list[Item] | None:
    given = [item for item in items if item != ELLIPSIS]
    if len(given) == len(items):
        return given if rank is None or len(given) <= rank else None
    if not given:
        return []
    if rank is None or len(items) - len(given) != 1 or len(given) > rank:
        return None
    place = list(items).index(ELLIPSIS)
    return [*given[:place], *([FULL] * (rank - len(given))), *given[place:]]


def _index(item: Item) -> Index:
    if isinstance(item, Index):
        return item
    if isinstance(item, Affine):
        return Index(IndexKind.POINT, item)
    if isinstance(item, Array):
        return Index(IndexKind.ARRAY, item.value, _lanes(item.value))
    if isinstance(item, Stretch) and item.start is not None and item.size is not None:
        key = ("slice", item.start, item.size, item.step)
        run = Symbol(key, SymbolKind.LANE, "lane", item.size)
        value = item.start + Affine.from_value(run) * Affine.from_value(item.step)
        return Index(IndexKind.SLICE, value, frozenset({run}), item.step)
    return _UNKNOWN


def _lanes(value: Affine) -> frozenset[Symbol]:
    return frozenset(s for s in value.symbols if s.kind is SymbolKind.LANE)


def _blocks_left(view: View, indices: tuple[Index, ...]) -> int:
    if view.whole:
        return view.storage.partition - _picked(indices[: view.storage.partition])
    return max(view.blocks - _picked(indices[: view.blocks]), 0)


def _picked(indices: tuple[Index, ...]) -> int:
    """Dimensions that are gone for sure, or may be."""
    return sum(index.kind in (IndexKind.POINT, IndexKind.UNKNOWN) for index in indices)


def _composed(view: View, indices: tuple[Index, ...]) -> tuple[Index, ...] | None:
    if view.whole:
        return indices
    if view.indices is not None and _leading_points(view):
        return view.indices + indices
    return None


def _shape(
    view: View,
    items: Sequence[Item],
    indices: tuple[Index, ...],
    sides: Shape | None,
    missing: int | None,
) -> Shape | None:
    if any(index.kind is IndexKind.UNKNOWN for index in indices):
        return None
    arrays = [item for item in items if isinstance(item, Array)]
    if arrays:
        plain = any(i.kind in (IndexKind.SLICE, IndexKind.FULL) for i in indices)
        return None if plain or missing else _array_shape(arrays)
    if sides is None:
        if not any(index.kind is IndexKind.SLICE for index in indices) or FULL in indices:
            return None
        rest: Shape = ()
    else:
        rest = sides[len(indices) :]
    extents = [
        extent_of(index, None if sides is None else sides[place])
        for place, index in enumerate(indices)
        if index.kind is not IndexKind.POINT
    ]
    if any(extent is None for extent in extents):
        return None
    shape = (*(e for e in extents if e is not None), *rest)
    return _padded(view, indices, shape, bool(rest))


def _padded(view: View, indices: tuple[Index, ...], shape: Shape, whole_rest: bool) -> Shape | None:
    """At least two dimensions: (P,) is (P, 1) where the point stands behind it."""
    partition = view.storage.partition if view.whole else view.blocks
    on_point = len(indices) > partition and indices[partition].kind is IndexKind.POINT
    if view.storage.on_chip and on_point and len(shape) > 0:
        return None
    if len(shape) >= 2:
        return shape
    if not shape:
        return (ONE, ONE)
    if not whole_rest and indices[-1].kind is IndexKind.POINT:
        return (shape[0], ONE)
    return None


def _array_shape(arrays: Sequence[Array]) -> Shape | None:
    rank = max(array.rank for array in arrays)
    if any(array.rank not in (0, rank) for array in arrays) or rank < 2:
        return None
    shape = [ONE] * rank
    for array in arrays:
        for symbol in _lanes(array.value):
            extent = symbol.extent
            if extent is None or (shape[symbol.axis] not in (ONE, extent)):
                return None
            shape[symbol.axis] = extent
    return tuple(shape)


def partition_index(view: View) -> Index | None:
    """How the partition dimension is indexed, where the view is a direct part of a tensor."""
    place = view.storage.partition
    if view.indices is None:
        return None
    return view.indices[place] if place < len(view.indices) else FULL


def start_of(index: Index) -> Affine | None:
    """The first index it picks, as far as its lanes start at 0."""
    if index.kind is IndexKind.FULL:
        return ZERO
    if index.base is None:
        return None
    return index.base.substitute(dict.fromkeys(index.lanes, ZERO))
