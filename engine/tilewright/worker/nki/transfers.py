"""Transfers between HBM and the chip."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import functions, tensors
from .arithmetic import (
    check_limits,
    check_shape,
    floats,
    record,
    selection_of,
    undefined_of,
)
from .assignments import fitted, put
from .indices import Selection
from .instruction import Instruction
from .launch import Launch, running
from .storage import Values
from .tensors import Reference, Tensor, Tile

Array = np.ndarray[Any, Any]


def _in_hbm(launch: Launch, tile: Any, what: str, way_out: str) -> Reference:
    if not isinstance(tile, Tile):
        launch.stop("argument", f"{what} is a part of a tensor, not {type(tile).__name__}")
    if tile.buffer != "HBM":
        launch.stop(
            "memory", f"{what} ({tile}) is in {tile.buffer} (err_unsupported_memory): {way_out}"
        )
    return tile.part()


def _moved(shape: tuple[int, ...], selection: Selection | None, itemsize: int) -> Any:
    """The bytes that a transfer moves, after the mask."""
    sides = shape if selection is None else tuple(high - low for low, high in selection.box)
    return (("bytes", int(np.prod(sides)) * itemsize),)


def load(src: Any, dtype: Any = None, mask: Any = None) -> Tensor:
    """A tile of SBUF with the contents of a part of HBM; masked elements are undefined."""
    launch = running()
    part = _in_hbm(launch, src, "what nl.load reads", "it is on the chip already; use nl.copy")
    instruction = Instruction("nki.language.load", part.shape, mask)
    found = tensors.values(part, instruction.selection)
    check_shape(launch, found.data.shape, "SBUF", "the tile that nl.load makes")
    instruction.reads.append(found)
    more = _moved(part.shape, instruction.selection, part.itemsize)
    return instruction.result(
        found.data.copy(), dtype, part.dtype, more=more, name="the tile of nl.load"
    )


def load_transpose2d(src: Any, dtype: Any = None, mask: Any = None) -> Tensor:
    """A two-dimensional part of HBM with its axes exchanged."""
    launch = running()
    part = _in_hbm(launch, src, "what nl.load_transpose2d reads", "use nisa.nc_transpose")
    if len(part.shape) != 2:
        launch.stop("shape", f"nl.load_transpose2d of {len(part.shape)} axes; it takes two")
    instruction = Instruction("nki.language.load_transpose2d", part.shape, mask)
    found = tensors.values(part, instruction.selection)
    check_shape(launch, found.data.T.shape, "SBUF", "the tile that nl.load_transpose2d makes")
    instruction.reads.append(found)
    more = _moved(part.shape, instruction.selection, part.itemsize)
    instruction.selection = None  # the part that the mask leaves out is undefined
    undefined = None if found.undefined is None else found.undefined.T
    return instruction.result(
        found.data.T.copy(), dtype, part.dtype, (undefined, found.origin), more=more,
        name="the tile of nl.load_transpose2d",
    )  # fmt: skip


def store(dst: Any, value: Any, mask: Any = None) -> None:
    """Writes a tile to a part of HBM."""
    launch = running()
    part = _in_hbm(launch, dst, "what nl.store writes", "assign to a tile with [...]")
    selection = selection_of(launch, mask, part.shape)
    if isinstance(value, (int, float, np.number)):
        data = part.dtype.cast(np.full((1, 1), value, dtype=np.float32))
        put(part, data, None, None, selection)
        return
    if not isinstance(value, Tile):
        launch.stop("argument", f"nl.store writes a tile, not {type(value).__name__}")
    if value.buffer == "HBM":
        launch.stop("memory", f"{value} is in HBM: load it first, or use nisa.dma_copy")
    found = tensors.values(value)
    check_limits_of_transfer(launch, found, "what nl.store reads")
    record(
        launch, "nki.language.store", [found], [part], selection,
        more=_moved(part.shape, selection, part.itemsize),
    )  # fmt: skip
    write_out(part, found, selection)


def check_limits_of_transfer(launch: Launch, found: Values, what: str) -> None:
    """Transfers begin at any partition; their extents are bounded as those of instructions."""
    start, found.start = found.start, 0
    check_limits(launch, found, what)
    found.start = start


def write_out(part: Reference, found: Values, selection: Selection | None) -> None:
    """Writes a tile that an instruction read to a part of HBM, and reports undefined elements."""
    launch = part.launch
    found = fitted(launch, found, part.shape)
    undefined = found.undefined
    if undefined is not None:
        undefined = np.broadcast_to(undefined, part.shape)
        if selection is not None:
            undefined = undefined & selection.array(part.shape)
        if not undefined.any():
            undefined = None
    if undefined is not None and part.storage.shared_output:
        _report_undefined(launch, found, undefined)
    put(part, part.dtype.cast(found.data), undefined, found.origin, selection)


def _report_undefined(launch: Launch, found: Values, undefined: Array) -> None:
    line, name = found.origin or (0, "a tile")
    place = tuple(int(i) for i in np.argwhere(undefined)[0])
    launch.report(
        "uninitialized",
        f"{int(undefined.sum())} of {undefined.size} elements that are stored, the first at "
        f"{list(place)} of the tile, depend on memory that was never written: {name} (line {line})",
    )


def dma_copy(dst: Any, src: Any, mask: Any = None, accumulate: bool = False) -> None:
    """A transfer from any memory to any other.

    Args:
        accumulate: add to what the destination holds.
    """
    launch = running()
    if not isinstance(dst, Tile) or not isinstance(src, Tile):
        launch.stop("argument", "nisa.dma_copy takes dst and src, parts of tensors")
    target: Reference = dst.part()
    selection = selection_of(launch, mask, target.shape)
    source: Reference = src.part()
    found = tensors.values(source, selection if source.shape == target.shape else None)
    record(
        launch, "nki.isa.dma_copy", [found], [target], selection,
        more=_moved(target.shape, selection, max(source.itemsize, target.itemsize)),
    )  # fmt: skip
    same = reshaped(launch, found, target.shape)
    if accumulate:
        _add_to_memory(target, same, selection)
        return
    _deliver(target, same, selection)


def dma_transpose(dst: Any, src: Any, order: tuple[int, ...]) -> None:
    """A transfer that exchanges axes."""
    launch = running()
    target, source = dst.part(), src.part()
    if order not in ((1, 0), (2, 1, 0), (3, 1, 2, 0)):
        launch.stop("unsupported", f"nisa.dma_transpose of axes {order}")
    found = tensors.values(source)
    record(
        launch, "nki.isa.dma_transpose", [found], [target], None,
        more=_moved(target.shape, None, target.itemsize),
    )  # fmt: skip
    turned = Values(found.data.transpose(order), None, found.origin, found.dtype, found.memory)
    if found.undefined is not None:
        turned.undefined = found.undefined.transpose(order)
    _deliver(target, reshaped(launch, turned, target.shape), None)


def dma_sum(dst: Any, sources: list[Any], scales: list[Any]) -> None:
    """A transfer of the sum of scaled parts."""
    launch = running()
    target = dst.part()
    parts = [reshaped(launch, tensors.values(s.part()), target.shape) for s in sources]
    record(
        launch, "nki.isa.dma_compute", parts, [target], None,
        more=_moved(target.shape, None, target.itemsize),
    )  # fmt: skip
    total = np.zeros(target.shape, np.float32)
    for part, scale in zip(parts, scales, strict=True):
        total = total + floats(part) * np.float32(scale)
    undefined, origin = undefined_of(*parts)
    _deliver(target, Values(total, undefined, origin, target.dtype, target.buffer), None)


def _deliver(target: Reference, found: Values, selection: Selection | None) -> None:
    if target.buffer == "HBM":
        write_out(target, found, selection)
    else:
        put(target, target.dtype.cast(found.data), found.undefined, found.origin, selection)


def reshaped(launch: Launch, found: Values, shape: tuple[int, ...]) -> Values:
    """A tile as a transfer sees it: elements in order, whatever the axes.

    Raises:
        KernelFault: another number of elements.
    """
    if found.data.shape == shape:
        return found
    if found.data.size != int(np.prod(shape)):
        launch.stop("shape", f"a transfer from {list(found.data.shape)} to {list(shape)}")
    found.data = found.data.reshape(shape)
    if found.undefined is not None:
        found.undefined = found.undefined.reshape(shape)
    return found


def _add_to_memory(target: Reference, found: Values, selection: Selection | None) -> None:
    before = tensors.values(target, selection, watched=False)
    undefined = before.undefined
    if found.undefined is not None:
        undefined = found.undefined if undefined is None else undefined | found.undefined
    total = floats(before) + floats(found)
    put(target, target.dtype.cast(total), undefined, found.origin or before.origin, selection, True)


def atomic_rmw(dst: Any, value: Any, op: Any, mask: Any = None) -> None:
    """Adds a tile to a part of HBM."""
    launch = running()
    name = functions.name_of(op)
    if name != "add":
        launch.stop("unsupported", f"the simulator has no nl.atomic_rmw with {name!r}, only add")
    part = _in_hbm(launch, dst, "what nl.atomic_rmw writes", "assign with += on the chip")
    selection = selection_of(launch, mask, part.shape)
    found = tensors.values(value)
    record(
        launch, "nki.language.atomic_rmw", [found], [part], selection,
        more=_moved(part.shape, selection, part.itemsize),
    )  # fmt: skip
    _add_to_memory(part, fitted(launch, found, part.shape), selection)
