"""The scalar engine: a function of scaled and shifted elements, with its accumulators."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import functions
from .arithmetic import floats, undefined_of
from .assignments import put
from .elementwise import apply_unary, function_name, tile_of
from .instruction import Instruction, is_number
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
    instruction = Instruction(name, tile_of(launch, data, name).shape, mask)
    found = instruction.read(data, "data")
    inner = floats(found)
    if not (is_number(scale) and scale == 1.0):
        inner = inner * np.float32(instruction.column(scale, found, "scale"))
    if bias is not None:
        _check_bias(launch, bias)
        inner = inner + np.float32(instruction.column(bias, found, "bias"))
    undefined, origin = undefined_of(*instruction.reads)
    shown = Values(inner, undefined, origin, found.dtype, found.memory)
    result_values = apply_unary(instruction, function, shown)
    also = [reduce_res] if isinstance(reduce_res, Tile) else []
    result = instruction.result(result_values, dtype, found.dtype, also=also)
    selection = instruction.selection
    kept = None if selection is None else selection.array(found.data.shape)
    _accumulate(launch, result_values, undefined, kept, reduce_op, reduce_cmd)
    if reduce_res is not None:
        _give_out(launch, reduce_res, found, origin)
    return result


def _check_bias(launch: Launch, bias: Any) -> None:
    if is_number(bias) and launch.settings.limits.generation < 3:
        launch.stop(
            "argument",
            "bias is a tile of one number for each partition here, not a number "
            "(err_activation_bias_invalid_type): nisa.memset((n, 1), value)",
        )


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
