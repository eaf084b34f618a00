"""From a user's subscript to a strided part of a block.

Two kinds of subscripts exist: slices (``t[i, 0:128, j:j + 512]``), where each slice is an axis of
the tile, and index expressions (``t[i, nl.arange(128)[:, None], j + nl.arange(512)[None, :]]``),
whose axes are those of the expressions. Whole numbers may stand in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .indices import Box, DynamicSlice, Index, IndexProblem

Shape = tuple[int, ...]


class Gather:
    """A dimension that is indexed by the values of a tile.

    Attributes:
        rows: whole numbers, broadcast to the tile's shape.
    """

    __slots__ = ("rows",)

    def __init__(self, rows: Any) -> None:
        self.rows = rows


class Dimension:
    """One dimension of the memory: ``const + sum(steps[axis] * position[axis])``."""

    __slots__ = ("const", "gather", "size", "steps")

    def __init__(self, const: int, steps: Shape, size: int, gather: Gather | None = None) -> None:
        self.const = const
        self.steps = steps
        self.size = size
        self.gather = gather

    def ends(self, box: Box) -> tuple[int, int]:
        low = high = self.const
        for step, (first, last) in zip(self.steps, box, strict=True):
            if step > 0:
                low += step * first
                high += step * (last - 1)
            elif step:
                low += step * (last - 1)
                high += step * first
        return low, high


class Subscript:
    """A resolved subscript.

    Attributes:
        block: of the leading dimensions that hold whole tiles.
        shape: of the tile.
        dimensions: of the memory of one block.
        advanced: given by index expressions.
    """

    __slots__ = ("advanced", "block", "dimensions", "shape")

    def __init__(
        self, block: Shape, shape: Shape, dimensions: tuple[Dimension, ...], advanced: bool
    ) -> None:
        self.block = block
        self.shape = shape
        self.dimensions = dimensions
        self.advanced = advanced

    @property
    def box(self) -> Box:
        return tuple((0, n) for n in self.shape)

    @property
    def gathers(self) -> bool:
        return any(d.gather is not None for d in self.dimensions)

    def outside(self, box: Box) -> tuple[int, int, int, int] | None:
        """(dimension, least, greatest index, size) of the first that leaves the memory."""
        for place, dimension in enumerate(self.dimensions):
            if dimension.gather is not None:
                continue
            low, high = dimension.ends(box)
            if low < 0 or high >= dimension.size:
                return place, low, high, dimension.size
        return None

    def layout(self, strides: Shape, box: Box | None) -> tuple[int, Shape, Shape]:
        """(offset, shape, steps) in elements of the memory of one block."""
        rank = len(self.shape)
        steps = [0] * rank
        offset = 0
        for dimension, stride in zip(self.dimensions, strides, strict=True):
            offset += dimension.const * stride
            for axis in range(rank):
                if dimension.steps[axis]:
                    steps[axis] += dimension.steps[axis] * stride
        if box is None:
            return offset, self.shape, tuple(steps)
        for axis, (low, _) in enumerate(box):
            offset += steps[axis] * low
        return offset, tuple(high - low for low, high in box), tuple(steps)


def expand(key: Any, rank: int) -> list[Any]:
    """The entries of a subscript, one for each dimension.

    Raises:
        IndexProblem: more entries than dimensions.
    """
    entries = list(key) if isinstance(key, tuple) else [key]
    dots = [place for place, entry in enumerate(entries) if entry is Ellipsis]
    if len(dots) > 1:
        raise IndexProblem("a subscript has one `...` at most")
    if dots:
        missing = rank - (len(entries) - 1)
        entries[dots[0] : dots[0] + 1] = [slice(None)] * missing
    if len(entries) > rank:
        raise IndexProblem(f"{len(entries)} indices for {rank} dimensions")
    if len(entries) < rank and any(isinstance(e, Index) for e in entries):
        raise IndexProblem(
            f"{len(entries)} index expressions for {rank} dimensions: every dimension needs one "
            "(write 0 where its size is 1)"
        )
    return entries + [slice(None)] * (rank - len(entries))


def whole(entry: Any) -> bool:
    return isinstance(entry, (int, np.integer)) and not isinstance(entry, bool)


def resolve(key: Any, outer: Shape, inner: Shape) -> Subscript:
    """The part of a tensor of blocks ``outer`` and tiles ``inner`` that a subscript names.

    Raises:
        IndexProblem: the language refuses it.
    """
    entries = expand(key, len(outer) + len(inner))
    block = _block(entries[: len(outer)], outer)
    rest = entries[len(outer) :]
    advanced = any(isinstance(e, (Index, Gather)) for e in rest)
    if advanced:
        return _by_expressions(block, rest, inner)
    return _by_slices(block, rest, inner)


def _block(entries: list[Any], outer: Shape) -> Shape:
    found = []
    for place, (entry, size) in enumerate(zip(entries, outer, strict=True)):
        if not whole(entry):
            if size == 1 and isinstance(entry, slice):
                entry = 0
            else:
                raise IndexProblem(
                    f"dimension {place} of the tensor holds {size} whole tiles and is indexed by "
                    "one whole number: loop over it "
                    "(err_failed_to_infer_tile_from_local_tensor)"
                )
        number = int(entry) + size if int(entry) < 0 else int(entry)
        if not 0 <= number < size:
            raise IndexError(f"index {int(entry)} of dimension {place}, whose size is {size}")
        found.append(number)
    return tuple(found)


def _by_slices(block: Shape, entries: list[Any], inner: Shape) -> Subscript:
    shape: list[int] = []
    parts: list[tuple[int, int | None, int]] = []  # const, axis, step
    for entry, size in zip(entries, inner, strict=True):
        if whole(entry):
            number = int(entry)
            parts.append((number + size if number < 0 else number, None, 0))
            continue
        start, extent, step = _extent(entry, size)
        parts.append((start, len(shape), step))
        shape.append(extent)
    rank = max(2, len(shape))
    lead = rank - len(shape) if len(shape) < 2 and parts[0][1] is None else 0
    dimensions = []
    for (const, axis, step), size in zip(parts, inner, strict=True):
        steps = [0] * rank
        if axis is not None:
            steps[axis + lead] = step
        dimensions.append(Dimension(const, tuple(steps), size))
    shape = [1] * lead + shape
    shape += [1] * (rank - len(shape))
    return Subscript(block, tuple(shape), tuple(dimensions), advanced=False)


def _extent(entry: Any, size: int) -> tuple[int, int, int]:
    """(start, count, step) of a slice."""
    if isinstance(entry, DynamicSlice):
        return entry.start, entry.size, 1
    if not isinstance(entry, slice):
        raise IndexProblem(f"an index is a whole number, a slice or an expression, not {entry!r}")
    step = 1 if entry.step is None else int(entry.step)
    start = 0 if entry.start is None else int(entry.start)
    stop = size if entry.stop is None else int(entry.stop)
    start = start + size if start < 0 else start
    stop = stop + size if stop < 0 else stop
    count = -(-(stop - start) // step)
    if count <= 0:
        raise IndexProblem(f"the slice {start}:{stop} is empty")
    return start, count, step


def _by_expressions(block: Shape, entries: list[Any], inner: Shape) -> Subscript:
    rank = 0
    for entry in entries:
        if isinstance(entry, Index):
            if len(entry.shape) == 1:
                raise IndexProblem(
                    "nl.arange(n) is an index only with a new axis: nl.arange(n)[:, None] or "
                    "nl.arange(n)[None, :] (err_1d_arange_not_supported)"
                )
            rank = max(rank, len(entry.shape))
        elif isinstance(entry, Gather):
            rank = max(rank, entry.rows.ndim)
        elif not whole(entry):
            raise IndexProblem(
                "one subscript has slices and index expressions "
                "(err_unsupported_mixing_basic_advanced_tensor_indexing): write the slice as "
                "start + nl.arange(size)[None, :]"
            )
    shape = [1] * rank
    dimensions = []
    for entry, size in zip(entries, inner, strict=True):
        if whole(entry):
            dimensions.append(Dimension(int(entry), (0,) * rank, size))
        elif isinstance(entry, Gather):
            _widen(shape, (1,) * (rank - entry.rows.ndim) + entry.rows.shape)
            dimensions.append(Dimension(0, (0,) * rank, size, entry))
        else:
            lead = rank - len(entry.shape)
            _widen(shape, (1,) * lead + entry.shape)
            dimensions.append(Dimension(entry.const, (0,) * lead + entry.steps, size))
    return Subscript(block, tuple(shape), tuple(dimensions), advanced=True)


def _widen(shape: list[int], other: Shape) -> None:
    for axis, extent in enumerate(other):
        if extent != 1 and shape[axis] not in (1, extent):
            raise IndexProblem(f"index expressions of extents {shape[axis]} and {extent}")
        shape[axis] = max(shape[axis], extent)
