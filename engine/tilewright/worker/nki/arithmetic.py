"""What instructions share: operands and their checks, results, assignments, records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from . import dtypes, tensors
from . import launch as launches
from . import storage as memory
from .dtypes import DType
from .indices import IndexProblem, Selection, select
from .launch import Launch, PartKey
from .storage import Memory, Storage, Values
from .tensors import Tensor, Tile

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Undefined = tuple[Array | None, tuple[int, str] | None]
ON_CHIP: Final[tuple[Memory, ...]] = ("SBUF", "PSUM")


def selection_of(launch: Launch, mask: Any, shape: Shape) -> Selection | None:
    """The elements that a mask leaves of a tile.

    Raises:
        KernelFault: it is no mask.
    """
    if mask is None:
        return None
    try:
        return select(mask, shape)
    except IndexProblem as problem:
        launch.stop("index", str(problem))


def dtype_of(launch: Launch, given: Any, otherwise: DType) -> DType:
    """The type that a ``dtype=`` argument names.

    Raises:
        KernelFault: the chip has no such type.
    """
    if given is None:
        return otherwise
    found = dtypes.find(given)
    if found is not None:
        return found
    if dtypes.is_wide(given):
        launch.stop("argument", f"the chip has no 64-bit type ({given}): use float32 or int32")
    launch.stop("unsupported", f"the simulator has no type {given!r}")


def operand(
    launch: Launch,
    tile: Any,
    what: str,
    selection: Selection | None = None,
    places: Sequence[Memory] = ON_CHIP,
    engine: str = "",
) -> Values:
    """A tile as a compute instruction reads it.

    Args:
        what: the argument's name, for messages.
        places: the memories that the instruction reads.

    Raises:
        KernelFault: no tile, in a wrong memory, or over a limit.
    """
    if not isinstance(tile, Tile):
        launch.stop("argument", f"{what} is a tile, not {type(tile).__name__}")
    if tile.buffer not in places:
        _wrong_memory(launch, tile, what, places)
    found = tensors.values(tile, selection)
    check_limits(launch, found, what)
    if engine == "gpsimd" and found.memory == "PSUM":
        launch.stop("memory", f"{what} is in PSUM, which the GpSimd engine cannot reach: copy it")
    return found


def _wrong_memory(launch: Launch, tile: Tile, what: str, places: Sequence[Memory]) -> None:
    if tile.buffer == "HBM":
        launch.stop(
            "memory",
            f"{what} ({tile}) is in HBM, which compute instructions do not reach "
            "(err_unsupported_memory): load it first",
        )
    launch.stop(
        "memory",
        f"{what} ({tile}) is in {tile.buffer}; it is read from {' or '.join(places)} "
        "(err_unsupported_memory): copy it first",
    )


def check_limits(launch: Launch, found: Values, what: str) -> None:
    """Partitions, elements and first partition of an access.

    Raises:
        KernelFault: one is over a limit of the chip.
    """
    shape = found.data.shape
    check_shape(launch, shape, found.memory, what)
    if found.start and not legal_start(found.start, shape[0]):
        launch.stop(
            "start-partition",
            f"{what} begins at partition {found.start} with {shape[0]} partitions: more than 64 "
            "begin at 0, more than 32 at 0 or 64, others at 0, 32, 64 or 96",
        )


def check_shape(launch: Launch, shape: Shape, where: Memory, what: str) -> None:
    """Extents of a tile on the chip.

    Raises:
        KernelFault: one is over a limit of the chip.
    """
    limits = launch.settings.limits
    if shape[0] > limits.partitions:
        launch.stop(
            "limit",
            f"{what} has {shape[0]} partitions; there are {limits.partitions} "
            "(err_num_partition_exceed_arch_limit)",
        )
    free = math.prod(shape[1:])
    most = limits.free_elements_psum if where == "PSUM" else limits.free_elements_sbuf
    if free > most:
        launch.stop(
            "limit",
            f"{what} has {free} elements a partition; an access in {where} has {most} at most "
            "(err_size_of_dimension_exceed_arch_limit)",
        )
    if len(shape) > limits.dimensions:
        launch.stop(
            "limit",
            f"{what} has {len(shape)} dimensions; an access has {limits.dimensions} at most "
            "(err_exceed_max_supported_dimension)",
        )


def legal_start(start: int, count: int) -> bool:
    """Whether a compute instruction may begin at a partition (the vendor's rule)."""
    if count > 64:
        return start == 0
    return start in ((0, 64) if count > 32 else (0, 32, 64, 96))


def same_start(launch: Launch, first: Values, second: Values, what: str) -> None:
    """Warns where elementwise operands in SBUF do not lie on the same partitions.

    The vendor's documents ask for it; public kernels rely on a compiler that copies one.
    """
    if first.start != second.start and "PSUM" not in (first.memory, second.memory):
        launch.report(
            "start-partition",
            f"{what}: operands begin at partitions {first.start} and {second.start}; where the "
            "compiler does not copy one, they must be the same",
            "warning",
        )


def floats(found: Values) -> Array:
    """Elements as engines compute with them: float32."""
    return found.data if found.data.dtype == np.float32 else found.data.astype(np.float32)


def undefined_of(*all_of: Values) -> Undefined:
    """(elements that depend on undefined ones, where those come from) of elementwise operands."""
    found = [v for v in all_of if v.undefined is not None]
    if not found:
        return None, None
    result: Array | None = None
    rank = max(v.data.ndim for v in all_of)
    for one in found:
        undefined = one.undefined
        assert undefined is not None
        undefined = padded(undefined, rank)
        result = undefined if result is None else result | undefined
    return result, found[0].origin


def padded(data: Array, rank: int) -> Array:
    """A tile of fewer axes with new free axes after its partitions."""
    if data.ndim in (0, rank):
        return data
    return data.reshape(data.shape[:1] + (1,) * (rank - data.ndim) + data.shape[1:])


def new_tile(
    launch: Launch,
    name: str,
    data: Array,
    dtype: DType,
    undefined: Array | None = None,
    origin: tuple[int, str] | None = None,
    where: Memory = "SBUF",
    selection: Selection | None = None,
) -> Tensor:
    """The result of an instruction.

    Args:
        data: values not yet rounded to ``dtype``; an array that nothing else holds.
        selection: the elements that a mask let it compute; the others are undefined, and stay as
            they are where the tile is assigned.
    """
    shape = tuple(data.shape)
    line = launches.user_line()
    storage = Storage(launch, where, dtype, data.size, name, line)
    storage.fresh = True
    rounded = dtype.cast(data)
    if not rounded.flags.c_contiguous:
        rounded = np.ascontiguousarray(rounded)
    block = memory.Block(launch, where, data.size)
    block.data = rounded
    block.writer = block.add_write(memory.Write(launch.turn, line))
    block.account(data.size // max(1, shape[0]) * dtype.itemsize)
    block.use()
    storage.blocks[()] = block
    if selection is not None:
        outside = ~selection.array(shape)
        undefined = outside if undefined is None else outside | undefined
        origin = origin or (line, f"the masked part of {name}")
    if undefined is not None:
        # a scalar False covers shapes that were broadcast
        missing = np.broadcast_to(undefined, shape)
        block.writer = np.where(missing, 0, 1).astype(np.uint32).reshape(-1)
        block.origin = origin
    tile = Tensor(storage, (), shape)
    tile.selection = selection
    return tile


# --- records -------------------------------------------------------------------------------------


def part_key(found: Values | Tile) -> PartKey:
    if isinstance(found, Values):
        shape = found.data.shape
        return (
            found.number, found.memory, found.dtype.name, shape[0], math.prod(shape[1:])
        )  # fmt: skip
    storage = found.storage
    shape = found.shape
    return (
        storage.number, storage.memory, storage.dtype.name, shape[0], math.prod(shape[1:])
    )  # fmt: skip


def record(
    launch: Launch,
    op: str,
    reads: Sequence[Values | Tile],
    writes: Sequence[Values | Tile],
    selection: Selection | None = None,
    engine: str = "",
    more: tuple[tuple[str, Any], ...] = (),
) -> None:
    """Lists an instruction where the launch asks for it."""
    if not launch.settings.record:
        return
    read = tuple(part_key(r) for r in reads)
    written = tuple(part_key(w) for w in writes)
    if selection is None:
        partitions = max(part[3] for part in (*read, *written))
        free = max(part[4] for part in (*read, *written))
    else:
        sides = [high - low for low, high in selection.box]
        partitions, free = sides[0], math.prod(sides[1:])
    launch.record((op, engine, launches.user_line(), read, written, partitions, free, more))
