"""``nki.isa``: instructions that write the tile that they are given.

Each is the instruction of the older package, computed in the type of its target.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from . import assignments, elementwise, functions, isa, products, transfers, vector_engine
from .arithmetic import floats, record
from .indices import Index
from .instruction import Engine, is_number
from .isa import get_nc_version, nc_version, reduce_cmd, unknown_engine
from .launch import Launch, running
from .tensors import Reference, Tensor, Tile, values

Array = np.ndarray[Any, Any]

# ``dtype`` is of early releases; the target's type counts.
_IGNORED = frozenset(
    ("name", "dtype", "dge_mode", "priority", "engine", "perf_mode", "tile_position", "tile_size",
     "is_stationary_onezero", "is_moving_onezero", "unique_indices")
)  # fmt: skip


class dge_mode:  # noqa: N801 (the vendor's name)
    unknown, swdge, hwdge, none = "unknown", "swdge", "hwdge", "none"


class oob_mode:  # noqa: N801 (the vendor's name)
    error, skip = "error", "skip"


class matmul_perf_mode:  # noqa: N801 (the vendor's name)
    none, double_row = "none", "double_row"


class engine:  # noqa: N801 (the vendor's name)
    tensor, vector, scalar, gpsimd = (
        Engine("tensor"), Engine("vector"), Engine("scalar"), Engine("gpsimd"),
    )  # fmt: skip
    dma, sync, unknown = Engine("dma"), Engine("sync"), unknown_engine


def _refuse(more: dict[str, Any]) -> None:
    for name, value in more.items():
        if name not in _IGNORED and value is not None:
            running().stop("unsupported", f"the simulator does not know the argument {name}=")
    if str(more.get("perf_mode") or "none") != "none":
        running().stop("unsupported", f"the simulator has no perf_mode={more['perf_mode']!r}")


def _target(
    dst: Any, more: dict[str, Any], places: tuple[str, ...] = ("SBUF", "PSUM")
) -> Reference:
    """What an instruction writes, unless the simulator does not know its further arguments."""
    _refuse(more)
    launch = running()
    if not isinstance(dst, Tile):
        launch.stop("argument", f"dst is a tile, not {type(dst).__name__}")
    if dst.buffer not in places:
        launch.stop(
            "memory", f"dst ({dst}) is in {dst.buffer}; it is written in {' or '.join(places)}"
        )
    part = dst.part()
    assignments.check_start(launch, part, "dst")
    return part


def _writing(instruction: Callable[..., Tensor]) -> Callable[..., None]:
    """An instruction of the older package, with the tile that it writes before its arguments.

    All of its arguments but those on types, masks and engines may be positional here.
    """
    takes = inspect.signature(instruction).parameters
    order = [name for name in takes if name not in ("dtype", "mask", "engine")]

    def write(dst: Any, *given: Any, **options: Any) -> None:
        if len(given) > len(order):
            raise TypeError(f"{instruction.__name__}() takes dst and {len(order)} arguments")
        more = {name: value for name, value in options.items() if name not in order}
        target = _target(dst, more)
        named = {name: value for name, value in options.items() if name in takes}
        result = instruction(
            **dict(zip(order, given, strict=False)), **{**named, "dtype": target.dtype}
        )
        assignments.assign_tile(target, result)

    return write


activation = _writing(isa.activation)
activation_reduce = _writing(isa.activation_reduce)
bn_aggr = _writing(isa.bn_aggr)
bn_stats = _writing(isa.bn_stats)
max8 = _writing(isa.max8)
reciprocal = _writing(isa.reciprocal)
scalar_tensor_tensor = _writing(isa.scalar_tensor_tensor)
tensor_copy = _writing(isa.tensor_copy)
tensor_partition_reduce = _writing(isa.tensor_partition_reduce)
tensor_reduce = _writing(isa.tensor_reduce)
tensor_scalar = _writing(isa.tensor_scalar)
tensor_scalar_reduce = _writing(isa.tensor_scalar_reduce)
tensor_tensor_scan = _writing(isa.tensor_tensor_scan)


def memset(dst: Any, value: Any, **more: Any) -> None:
    target = _target(dst, more)
    made = vector_engine.memset(target.shape, value, target.dtype, engine=more.get("engine"))
    assignments.assign_tile(target, made)


def dma_copy(dst: Any, src: Any, dst_rmw_op: Any = None, oob_mode: Any = None, **more: Any) -> None:
    _refuse(more)
    if oob_mode not in (None, "error"):
        running().stop("unsupported", "the simulator has no oob_mode.skip of nisa.dma_copy")
    added = dst_rmw_op is not None
    if added and functions.name_of(dst_rmw_op) != "add":
        running().stop("unsupported", "nisa.dma_copy accumulates with nl.add alone")
    transfers.dma_copy(dst, src, None, added)


def dma_transpose(dst: Any, src: Any, axes: Any = None, **more: Any) -> None:
    """Exchanges axes: (1, 0), (2, 1, 0) or (3, 1, 2, 0)."""
    _refuse(more)
    launch = running()
    if not isinstance(src, Tile) or not isinstance(dst, Tile):
        launch.stop("argument", "nisa.dma_transpose takes dst and src, parts of tensors")
    rank = src.ndim
    order = tuple(axes) if axes is not None else (rank - 1, *range(1, rank - 1), 0)
    transfers.dma_transpose(dst, src, order)


def nc_matmul(
    dst: Any,
    stationary: Any,
    moving: Any,
    is_transpose: bool = False,
    accumulate: bool | None = None,
    **more: Any,
) -> None:
    """``dst (+)= stationary.T @ moving``: by default what was written before is added to."""
    target = _target(dst, more, ("PSUM",))
    _check_bank(running(), target)
    adds = accumulate if accumulate is not None else _is_written(target)
    dtype = target.dtype if is_transpose else None
    product = products.nc_matmul(stationary, moving, None, is_transpose, dtype)
    if adds:
        assignments.add_into(target, product)
    else:
        assignments.assign_tile(target, product, accumulates=accumulate is None)


def _is_written(target: Reference) -> bool:
    """Whether all elements hold something to add to.

    Raises:
        KernelFault: some do and some do not.
    """
    found = values(target, watched=False)
    if found.undefined is None:
        return True
    if not found.undefined.all():
        target.launch.stop(
            "unsupported", f"nc_matmul into {target}, of which a product wrote a part before"
        )
    return False


def _check_bank(launch: Launch, target: Reference) -> None:
    """A product lies in one bank of PSUM, and tensors begin at one."""
    size = launch.settings.limits.psum_bank_bytes
    row = target.tensor.strides[0] if target.tensor.strides else 1
    place = target.place(None)
    first = (place.offset % max(1, row)) * 4
    last = first + sum(
        (extent - 1) * step
        for extent, step in zip(place.shape[1:], place.steps[1:], strict=True)
    ) * 4  # fmt: skip
    if first // size != last // size:
        launch.stop(
            "limit",
            f"a product in bytes {first} to {last + 3} of a partition of {target.tensor} crosses a "
            f"bank of PSUM ({size} bytes)",
        )


def nc_transpose(dst: Any, data: Any, **more: Any) -> None:
    target = _target(dst, more)
    by = getattr(more.get("engine"), "name", "") or (
        "vector" if target.buffer == "SBUF" else "tensor"
    )
    if by == "tensor" and target.buffer != "PSUM":
        running().stop("memory", "the tensor engine writes a transpose to PSUM")
    assignments.assign_tile(target, products.nc_transpose(data, by, target.dtype))


def tensor_tensor(dst: Any, data1: Any, data2: Any, op: Any, **more: Any) -> None:
    target = _target(dst, more)
    if functions.name_of(op) == "add":
        for same, other in ((data1, data2), (data2, data1)):
            if _is(target, same) and isinstance(other, Tile):
                assignments.add_into(target, other, "nki.isa.tensor_tensor")
                return
    result = elementwise.tensor_tensor(
        data1, data2, op, dtype=target.dtype, engine=more.get("engine")
    )
    assignments.assign_tile(target, result)


def _is(target: Reference, tile: Any) -> bool:
    """Whether a tile is the target itself, so that the instruction accumulates."""
    if not isinstance(tile, Tile) or tile.storage is not target.storage:
        return False
    part = tile.part()
    if part.subscript.gathers or target.subscript.gathers:
        return False
    mine, theirs = target.place(None), part.place(None)
    return mine.block == theirs.block and mine.key == theirs.key


def tensor_copy_predicated(
    dst: Any, src: Any, predicate: Any, reverse_pred: bool = False, **more: Any
) -> None:
    _target(dst, more)
    vector_engine.tensor_copy_predicated(src, dst, predicate, reverse_pred)


def _pattern(pattern: Any, offset: int, multiplier: int, partitions: int) -> Index:
    """``offset + multiplier * partition + sum(step * position)`` of a list of [step, count]."""
    pairs = [(int(step), int(count)) for step, count in pattern]
    shape = (partitions, *(count for _, count in pairs))
    return Index(int(offset), shape, (int(multiplier), *(step for step, _ in pairs)))


def iota(dst: Any, pattern: Any, offset: int = 0, channel_multiplier: int = 0, **more: Any) -> None:
    target = _target(dst, more)
    index = _pattern(pattern, offset, channel_multiplier, target.shape[0])
    numbers = index.values().reshape(target.shape)
    made = vector_engine.constant_tile("nki.isa.iota", numbers, target.dtype)
    assignments.assign_tile(target, made)


def affine_select(
    dst: Any,
    pattern: Any,
    channel_multiplier: int,
    on_true_tile: Any,
    on_false_value: Any,
    cmp_op: Any = None,
    offset: int = 0,
    **more: Any,
) -> None:
    """Keeps the elements where the pattern compares with zero; ``greater_equal`` by default."""
    target = _target(dst, more)
    launch = running()
    if on_true_tile.buffer == "PSUM":
        launch.stop("memory", "nisa.affine_select runs on GpSimd, which does not reach PSUM")
    index = _pattern(pattern, offset, channel_multiplier, on_true_tile.shape[0])
    name = "greater_equal" if cmp_op is None else functions.name_of(cmp_op)
    if name not in functions.COMPARISONS:
        launch.stop("argument", f"cmp_op is a comparison, not {name!r}")
    numbers = index.values().reshape(on_true_tile.shape).astype(np.float32)
    kept = elementwise.combine(launch, name, numbers, 0.0) != 0
    result = vector_engine.select_by(
        "nki.isa.affine_select", np.asarray(kept), on_true_tile, on_false_value, target.dtype
    )
    assignments.assign_tile(target, result)


def exponential(
    dst: Any, src: Any, max_value: Any = 0.0, reduce_res: Any = None, **more: Any
) -> None:
    """``exp(src - max_value)``, perhaps with its sums along the free axes."""
    target = _target(dst, more)
    steps = [(_named("subtract"), max_value, False)]
    shifted = elementwise.tensor_scalar(src, steps, op="nki.isa.exponential")
    raised = elementwise.unary("nki.isa.exponential", "exp", shifted, target.dtype)
    if reduce_res is not None:
        total = elementwise.reduce_tile("nki.isa.exponential", "add", raised, tuple(
            range(1, raised.ndim)
        ))  # fmt: skip
        assignments.assign_tile(reduce_res.part(), total)
    assignments.assign_tile(target, raised)


class _named:  # noqa: N801 (a name where an instruction takes a function)
    def __init__(self, name: str) -> None:
        self.__name__ = name


def tensor_scalar_cumulative(
    dst: Any, src: Any, op0: Any, op1: Any, imm0: Any, imm1: Any = None, **more: Any
) -> None:
    """``r[i] = op1(op0(src[i], imm0), r[i - 1])`` along the free axis, from ``imm1``."""
    target = _target(dst, more)
    launch = running()
    found = values(src)
    name0 = elementwise.function_name(launch, op0, functions.BINARY, "tensor_scalar_cumulative")
    name1 = elementwise.function_name(launch, op1, functions.BINARY, "tensor_scalar_cumulative")
    side = np.float32(imm0) if is_number(imm0) else floats(values(imm0))
    steps = elementwise.combine(launch, name0, floats(found), side)
    rows = steps.reshape(steps.shape[0], -1)
    state = rows[:, 0]
    if imm1 is not None:
        state = elementwise.combine(launch, name1, state, imm1)
    result = np.empty_like(rows)
    result[:, 0] = state
    for place in range(1, rows.shape[1]):
        state = functions.BINARY[name1](rows[:, place], state)
        result[:, place] = state
    record(launch, "nki.isa.tensor_scalar_cumulative", [found], [target])
    rounded = target.dtype.cast(result.reshape(target.shape))
    assignments.put(target, rounded, found.undefined, found.origin, None)


def dma_compute(dst: Any, srcs: Any, reduce_op: Any, scales: Any = None, **more: Any) -> None:
    """The sum of scaled parts of HBM or SBUF."""
    _refuse(more)
    launch = running()
    if functions.name_of(reduce_op) != "add":
        launch.stop("unsupported", "nisa.dma_compute adds alone")
    transfers.dma_sum(dst, list(srcs), [1.0] * len(srcs) if scales is None else list(scales))


__all__ = ["get_nc_version", "nc_version", "reduce_cmd"]
