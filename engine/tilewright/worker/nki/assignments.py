"""Assignments of tiles: copies, sums in place, reductions over the turns of loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import functions, tensors
from . import launch as launches
from . import storage as memory
from .arithmetic import floats, legal_start, operand, record, undefined_of
from .indices import Selection
from .launch import Launch
from .storage import Values
from .tensors import Reference, Tensor, Tile

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class Accumulation:
    """``tile += value`` before it is assigned back."""

    __slots__ = ("target", "value")

    def __init__(self, target: Reference, value: Any) -> None:
        self.target = target
        self.value = value


class LoopReduction:
    """What ``nl.loop_reduce`` returns: the first turn sets its target, others combine."""

    __slots__ = ("first", "op", "value")

    def __init__(self, value: Tensor, op: str, first: bool) -> None:
        self.value = value
        self.op = op
        self.first = first


def assign(target: Reference, value: Any) -> None:
    """``tile[...] = value``.

    Raises:
        KernelFault: the target is no memory of the chip, or shapes differ.
    """
    launch = target.launch
    tensors.check_scope(target.storage)
    if isinstance(value, Accumulation):
        _assign_sum(target, value)
        return
    if isinstance(value, LoopReduction):
        _assign_reduction(target, value)
        return
    if target.buffer == "HBM":
        launch.stop("memory", f"{target} is in HBM: store to it with nl.store")
    check_start(launch, target, "the target")
    if isinstance(value, (int, float, np.number)):
        data = target.dtype.cast(np.full((1, 1), value, dtype=np.float32))
        put(target, data, None, None, None)
        return
    if not isinstance(value, Tile):
        launch.stop("argument", f"a tile is assigned, not {type(value).__name__}")
    if value.buffer == "HBM":
        launch.stop("memory", f"{value} is in HBM: load it with nl.load")
    assign_tile(target, value)


def check_start(launch: Launch, target: Reference, what: str) -> None:
    start = target.start
    if start and target.buffer != "HBM" and not legal_start(start, target.shape[0]):
        launch.stop(
            "start-partition",
            f"{what} {target} begins at partition {start} with {target.shape[0]} partitions: more "
            "than 64 begin at 0, more than 32 at 0 or 64, others at 0, 32, 64 or 96",
        )


def assign_tile(target: Reference, value: Tile, accumulates: bool = False) -> None:
    """Copies a tile, or takes over the result of an instruction, which then writes the target.

    Args:
        accumulates: others are added to it, in any order.
    """
    launch = target.launch
    selection = getattr(value, "selection", None)
    fresh = value.storage.fresh and isinstance(value, Tensor)
    if fresh:
        value.storage.fresh = False
        launch.aliases.setdefault(
            value.storage.number, (target.storage.number, target.buffer, target.dtype.name)
        )
        if selection is None and value.storage.dtype is target.dtype:
            tensors.check_scope(value.storage)
            if value.shape == target.shape and target.inside():
                block = value.storage.blocks[()]
                if memory.adopt(target.place(None), block, accumulates):
                    return
    found = tensors.values(value)
    if not fresh:
        record(launch, "nki.language.copy", [found], [target])
    same = fitted(launch, found, target.shape)
    undefined = same.undefined
    if selection is not None and undefined is not None:
        # The masked part is not written at all.
        kept = selection.array(target.shape)
        undefined = undefined & kept if (undefined & kept).any() else None
    put(target, target.dtype.cast(same.data), undefined, same.origin, selection, accumulates)


def fitted(launch: Launch, found: Values, shape: Shape) -> Values:
    """A tile that may differ from the target in axes of one element.

    Raises:
        KernelFault: other differences.
    """
    have = found.data.shape
    if have == shape or found.data.size == 1:
        return found
    if [n for n in have if n != 1] != [n for n in shape if n != 1]:
        launch.stop(
            "shape",
            f"a tile of {list(have)} is assigned to {list(shape)} "
            "(err_store_dst_shape_smaller_than_other_shape)",
        )
    found.data = found.data.reshape(shape)
    if found.undefined is not None:
        found.undefined = found.undefined.reshape(shape)
    return found


def put(
    target: Reference,
    data: Array,
    undefined: Array | None,
    origin: tuple[int, str] | None,
    selection: Selection | None,
    accumulates: bool = False,
) -> None:
    """Writes rounded elements to a part, where a mask lets it.

    Args:
        data: of the part's shape, or one element.

    Raises:
        KernelFault: the part is an argument, or leaves its tensor.
    """
    launch = target.launch
    if not target.storage.mutable:
        launch.stop(
            "read-only",
            f"{target.storage.name} is an argument and is not written "
            "(err_cannot_update_immutable_parameter): write to a tensor in shared_hbm",
        )
    if target.subscript.gathers:
        _scatter(target, data, selection)
        return
    if selection is None:
        memory.write(target.place(None), data, undefined, origin, None, accumulates)
        return
    if selection.empty:
        return
    cut = selection.slices
    inner = data if data.size == 1 else data[cut]
    missing = None if undefined is None else np.broadcast_to(undefined, target.shape)[cut]
    place = target.place(selection)
    memory.write(place, inner, missing, origin, selection.exact, accumulates)


def _scatter(target: Reference, data: Array, selection: Selection | None) -> None:
    offsets = tensors.gather_offsets(target, selection)
    storage = target.storage
    block = storage.block(target.subscript.block)
    storage.materialize(block, storage.size)
    flat = block.own_data().reshape(-1)
    chosen = np.ones(target.shape, bool) if selection is None else selection.array(target.shape)
    flat[offsets[chosen]] = np.broadcast_to(data, target.shape)[chosen]
    number = block.add_write(memory.Write(storage.launch.turn, launches.user_line()))
    block.writer_array()[offsets[chosen]] = number
    block.seen.clear()


def _assign_sum(target: Reference, value: Accumulation) -> None:
    launch = target.launch
    if value.target.storage is not target.storage:
        launch.stop("index", "a sum is assigned to another tensor than it was made of")
    add_into(target, value.value)


def add_into(target: Reference, value: Any, op: str = "nki.language.add") -> None:
    """``target += value``, whose turns of an affine loop have no order.

    Args:
        op: as records name it where it is no sum of products.
    """
    launch = target.launch
    check_start(launch, target, "the target")
    if isinstance(value, (int, float, np.number)):
        before = tensors.values(target, watched=False)
        total = floats(before) + np.float32(value)
        record(launch, "nki.isa.tensor_scalar", [before], [target])
        put(target, target.dtype.cast(total), before.undefined, before.origin, None, True)
        return
    found = operand(launch, value, "the tile that is added")
    product = getattr(value, "product", False) and target.buffer == "PSUM"
    selection = getattr(value, "selection", None)
    if product and value.storage.fresh:
        value.storage.fresh = False
        number = value.storage.number
        launch.aliases.setdefault(number, (target.storage.number, "PSUM", target.dtype.name))
        launch.accumulating.add(number)
    else:
        value.storage.fresh = False
        record(launch, op, [target, found], [target], selection)
    _sum(target, found, selection)


def _sum(target: Reference, found: Values, selection: Selection | None) -> None:
    launch = target.launch
    before = tensors.values(target, selection, watched=False)
    have, want = found.data.shape, before.data.shape
    if have != want and not broadcasts(have, want):
        found = fitted(launch, found, want)
    total = floats(before) + floats(found)
    undefined, origin = undefined_of(before, found)
    if selection is not None and undefined is not None:
        undefined = undefined & selection.array(target.shape)
        undefined = undefined if undefined.any() else None
    put(target, target.dtype.cast(total), undefined, origin, selection, accumulates=True)


def broadcasts(small: Shape, large: Shape) -> bool:
    """Whether the free axes of one tile stretch to those of another of the same partitions."""
    return (
        len(small) == len(large)
        and small[0] == large[0]
        and all(n in (1, m) for n, m in zip(small, large, strict=True))
    )


def _assign_reduction(target: Reference, value: LoopReduction) -> None:
    launch = target.launch
    tile = value.value
    found = tensors.values(tile)
    selection = tile.selection
    tile.storage.fresh = False
    # One instruction, which adds to its target.
    number = tile.storage.number
    into = (target.storage.number, target.buffer, target.dtype.name)
    launch.aliases.setdefault(number, into)
    launch.accumulating.add(number)
    check_start(launch, target, "the target")
    same = fitted(launch, found, target.shape)
    if value.first:
        put(target, target.dtype.cast(same.data), same.undefined, same.origin, selection, True)
        return
    before = tensors.values(target, watched=False)
    total = functions.BINARY[value.op](floats(before), floats(same))
    undefined, origin = undefined_of(before, same)
    put(target, target.dtype.cast(total), undefined, origin, selection, accumulates=True)


def accumulate(target: Any, value: Any) -> Any:
    """``target += value``: a part waits for its assignment, a tensor is added to at once."""
    if isinstance(target, Reference):
        return Accumulation(target, value)
    tensors.check_scope(target.storage)
    add_into(target.part(), value)
    return target


tensors.OPERATORS["assign"] = assign
tensors.OPERATORS["accumulate"] = accumulate
