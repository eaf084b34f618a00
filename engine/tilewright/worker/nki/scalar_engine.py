"""The scalar engine: a function of scaled and shifted elements, with its accumulators."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import functions
from .arithmetic import (
    dtype_of,
    floats,
    new_tile,
    operand,
    padded,
    record,
    selection_of,
    undefined_of,
)
from .assignments import put
from .elementwise import apply_unary, function_name, is_number
from .launch import Launch, running
from .storage import Values
from .tensors import Tensor, Tile

Array = np.ndarray[Any, Any]
IDLE, RESET, REDUCE, RESET_REDUCE = "idle", "reset", "reduce", "reset_reduce"


def activation(
    op: Any,
    data: Any,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: str = IDLE,
    dtype: Any = None,
    mask: Any = None,
    name: str = "nki.isa.activation",
) -> Tensor:
    """``op(data * scale + bias)`` of each element, perhaps summed along the free axes.

    Args:
        bias, scale: numbers, or one for each partition.
        reduce_cmd: what happens to the accumulators, one for each partition, which ``reduce_res``
            receives afterwards.
    """
    launch = running()
    function = function_name(launch, op, functions.UNARY, name)
    if not isinstance(data, Tile):
        launch.stop("argument", f"{name} takes a tile, not {type(data).__name__}")
    selection = selection_of(launch, mask, data.shape)
    found = operand(launch, data, "data", selection)
    columns: list[Values] = []
    inner = floats(found)
    if not (is_number(scale) and scale == 1.0):
        inner = inner * _column(launch, scale, "scale", found, columns)
    if bias is not None:
        inner = inner + _bias(launch, bias, found, columns)
    undefined, origin = undefined_of(found, *columns)
    shown = Values(inner, undefined, origin, found.dtype, found.memory)
    result_values = apply_unary(launch, function, shown, selection)
    result = new_tile(
        launch, name, result_values, dtype_of(launch, dtype, found.dtype), undefined, origin,
        selection=selection,
    )  # fmt: skip
    writes = [result, reduce_res] if isinstance(reduce_res, Tile) else [result]
    record(launch, name, [found, *columns], writes, selection)
    kept = None if selection is None else selection.array(found.data.shape)
    _accumulate(launch, result_values, undefined, kept, reduce_op, reduce_cmd)
    if reduce_res is not None:
        _give_out(launch, reduce_res, found, origin)
    return result


def _bias(launch: Launch, bias: Any, found: Values, columns: list[Values]) -> Any:
    if is_number(bias) and launch.settings.limits.generation < 3:
        launch.stop(
            "argument",
            "bias is a tile of one number for each partition here, not a number "
            "(err_activation_bias_invalid_type): nisa.memset((n, 1), value)",
        )
    return _column(launch, bias, "bias", found, columns)


def _column(launch: Launch, value: Any, what: str, found: Values, columns: list[Values]) -> Any:
    if is_number(value):
        return np.float32(value)
    column = operand(launch, value, what)
    shape = column.data.shape
    if shape[0] != found.data.shape[0] or column.data.size != shape[0]:
        launch.stop(
            "shape",
            f"{what} of {list(shape)}: it is a number or a tile of [{found.data.shape[0]}, 1] "
            "(err_activation_scale_scalar_or_vector)",
        )
    columns.append(column)
    return padded(floats(column).reshape(shape[0], 1), found.data.ndim)


def _accumulate(
    launch: Launch,
    data: Array,
    undefined: Array | None,
    kept: Array | None,
    reduce_op: Any,
    command: str,
) -> None:
    """Changes the accumulators: (sums, which are undefined), one for each partition."""
    if command == IDLE:
        return
    if reduce_op is not None and functions.name_of(reduce_op) != "add":
        launch.stop("unsupported", "the scalar engine's accumulators only add")
    if command in (RESET, RESET_REDUCE):
        partitions = launch.settings.limits.partitions
        launch.accumulators["sums"] = np.zeros(partitions, np.float32)
        launch.accumulators["undefined"] = np.zeros(partitions, bool)
    if command in (REDUCE, RESET_REDUCE):
        if "sums" not in launch.accumulators:
            launch.stop("argument", "the accumulators are added to and were never reset")
        rows = data.shape[0]
        used = data if kept is None else np.where(kept, data, np.float32(0))
        free = tuple(range(1, data.ndim))
        launch.accumulators["sums"][:rows] += used.sum(axis=free)
        if undefined is not None:
            missing = np.broadcast_to(undefined, data.shape)
            missing = missing if kept is None else missing & kept
            launch.accumulators["undefined"][:rows] |= missing.any(axis=free)


def _give_out(
    launch: Launch, reduce_res: Any, found: Values, origin: tuple[int, str] | None
) -> None:
    if "sums" not in launch.accumulators:
        launch.stop(
            "argument",
            "reduce_res receives the accumulators, which were never reset: give "
            "reduce_cmd=nisa.reduce_cmd.reset_reduce",
        )
    target = reduce_res.part()
    rows = found.data.shape[0]
    if target.shape[0] != rows or target.size != rows:
        launch.stop("shape", f"reduce_res of {list(target.shape)}; it is [{rows}, 1]")
    sums = launch.accumulators["sums"][:rows].reshape(target.shape)
    missing = launch.accumulators["undefined"][:rows].reshape(target.shape)
    line = origin or (0, "the scalar engine's accumulators")
    put(target, target.dtype.cast(sums.copy()), missing if missing.any() else None, line, None)
