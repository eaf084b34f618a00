"""Instructions of the vector and GpSimd engines beyond the elementwise ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import dtypes, elementwise, functions
from .arithmetic import (
    Undefined,
    check_shape,
    dtype_of,
    floats,
    operand,
    record,
    same_start,
    undefined_of,
)
from .assignments import put
from .elementwise import fit_second, function_name, not_both_in_psum
from .instruction import Instruction, is_number
from .launch import Launch, running
from .storage import Values
from .tensors import Tensor

Array = np.ndarray[Any, Any]


def memset(shape: Any, value: Any, dtype: Any, *, mask: Any = None, engine: Any = "") -> Tensor:
    """A tile of one number."""
    launch = running()
    extents = tuple(int(n) for n in shape)
    check_shape(launch, extents, "SBUF", "the tile of nisa.memset")
    element = dtype_of(launch, dtype, dtypes.float32)
    return constant_tile("nki.isa.memset", np.full(extents, value), element, mask, engine)


def constant_tile(
    op: str, data: Array, dtype: dtypes.DType, mask: Any = None, engine: Any = ""
) -> Tensor:
    """A tile whose contents the instruction makes of nothing."""
    plain = data.astype(np.float32) if data.dtype == np.float64 else data
    return Instruction(op, data.shape, mask, engine).result(plain, None, dtype)


def scalar_tensor_tensor(
    *, data: Any, op0: Any, operand0: Any, op1: Any, operand1: Any, reverse0: bool = False,
    reverse1: bool = False, dtype: Any = None, mask: Any = None,
) -> Tensor:  # fmt: skip
    """``(data op0 operand0) op1 operand1`` with a number or column, then a tile."""
    op = "nki.isa.scalar_tensor_tensor"
    instruction = Instruction(op, data.shape, mask)
    launch = instruction.launch
    found = instruction.read(data, "data")
    side: Any = np.float32(instruction.column(operand0, found))
    other = instruction.read(operand1, "operand1")
    not_both_in_psum(launch, found, other, op)
    same_start(launch, found, other, op)
    fit_second(launch, found, other, op)
    name0 = function_name(launch, op0, functions.BINARY, op)
    name1 = function_name(launch, op1, functions.BINARY, op)
    pair = (side, floats(found)) if reverse0 else (floats(found), side)
    middle = elementwise.combine(launch, name0, *pair)
    pair = (floats(other), middle) if reverse1 else (middle, floats(other))
    return instruction.result(elementwise.combine(launch, name1, *pair), dtype, found.dtype)


def tensor_scalar_reduce(
    *, data: Any, op0: Any, operand0: Any, reduce_op: Any, reduce_res: Any, reverse0: bool = False,
    dtype: Any = None, mask: Any = None,
) -> Tensor:  # fmt: skip
    """``data op0 operand0`` and its reduction along the free axes, into ``reduce_res``."""
    launch = running()
    op = "nki.isa.tensor_scalar_reduce"
    name = function_name(launch, reduce_op, functions.REDUCTIONS, op)
    result = elementwise.tensor_scalar(data, [(op0, operand0, reverse0)], dtype, mask, "", op)
    found = operand(launch, result, "the result")
    kept = None if result.selection is None else result.selection.array(found.data.shape)
    _reduce_into(launch, name, found, kept, reduce_res)
    return result


def _reduce_into(launch: Launch, name: str, found: Values, kept: Array | None, target: Any) -> None:
    axes = tuple(range(1, found.data.ndim))
    data = floats(found)
    missing = found.undefined
    if kept is not None:
        neutral = {"add": 0.0, "multiply": 1.0, "maximum": -np.inf, "minimum": np.inf}[name]
        data = np.where(kept, data, np.float32(neutral))
        missing = None if missing is None else missing & kept
    folded = functions.fold(name, data, axes)
    part = target.part()
    if part.shape[0] != folded.shape[0] or part.size != folded.size:
        launch.stop("shape", f"reduce_res of {list(part.shape)}; it is [{folded.shape[0]}, 1]")
    undefined = None if missing is None else missing.any(axis=axes).reshape(part.shape)
    put(part, part.dtype.cast(folded.reshape(part.shape)), undefined, found.origin, None)


def tensor_tensor_scan(
    data0: Any, data1: Any, initial: Any, op0: Any, op1: Any, reverse0: bool = False,
    reverse1: bool = False, *, dtype: Any = None, mask: Any = None,
) -> Tensor:  # fmt: skip
    """``r[i] = op1(op0(data0[i], r[i - 1]), data1[i])`` along the free axis, in fp32."""
    op = "nki.isa.tensor_tensor_scan"
    instruction = Instruction(op, data0.shape, mask)
    launch = instruction.launch
    left, right = instruction.read(data0, "data0"), instruction.read(data1, "data1")
    not_both_in_psum(launch, left, right, op)
    fit_second(launch, left, right, op)
    names = [function_name(launch, t, functions.BINARY, op) for t in (op0, op1)]
    start = instruction.column(initial, left)
    rows = left.data.shape[0]
    state = np.broadcast_to(np.asarray(start, np.float32).reshape(-1, 1)[:, 0], (rows,))
    data = _scan(
        floats(left).reshape(rows, -1), floats(right).reshape(rows, -1), state, names,
        (reverse0, reverse1),
    )  # fmt: skip
    undefined, origin = undefined_of(*instruction.reads)
    if undefined is not None:  # every later element depends on it
        flat = np.broadcast_to(undefined, left.data.shape).reshape(rows, -1)
        undefined = np.logical_or.accumulate(flat, axis=1).reshape(left.data.shape)
    return instruction.result(data.reshape(left.data.shape), dtype, left.dtype, (undefined, origin))


def _scan(
    left: Array, right: Array, state: Array, names: Sequence[str], reverse: tuple[bool, bool]
) -> Array:
    op0, op1 = (functions.BINARY[name] for name in names)
    left, right = np.ascontiguousarray(left.T), np.ascontiguousarray(right.T)
    result = np.empty_like(left)
    for place in range(left.shape[0]):
        inner = op0(state, left[place]) if reverse[0] else op0(left[place], state)
        state = op1(right[place], inner) if reverse[1] else op1(inner, right[place])
        result[place] = state
    return result.T


def tensor_partition_reduce(op: Any, data: Any, *, mask: Any = None, dtype: Any = None) -> Tensor:
    """A reduction over partitions: (1, F)."""
    instruction = Instruction("nki.isa.tensor_partition_reduce")
    launch = instruction.launch
    name = function_name(launch, op, functions.REDUCTIONS, "nisa.tensor_partition_reduce")
    if mask is not None:
        launch.stop("unsupported", "the simulator has no mask of nisa.tensor_partition_reduce")
    found = instruction.read(data, "data")
    folded = functions.fold(name, floats(found), (0,))
    undefined = None
    if found.undefined is not None:
        undefined = np.asarray(found.undefined.any(axis=0, keepdims=True))
    return instruction.result(folded, dtype, found.dtype, (undefined, found.origin))


def select_by(
    op: str, kept: Array, tile: Any, otherwise: Any, dtype: Any = None, mask: Any = None
) -> Tensor:
    """A tile where ``kept`` holds, a number elsewhere."""
    instruction = Instruction(op, tile.shape, mask)
    found = instruction.read(tile, "the tile")
    if not is_number(otherwise):
        instruction.launch.stop("argument", f"{op} takes a number for the other elements")
    data = np.where(kept, floats(found), np.float32(otherwise))
    undefined = None if found.undefined is None else found.undefined & kept
    if undefined is not None and not undefined.any():
        undefined = None
    return instruction.result(data, dtype, found.dtype, (undefined, found.origin))


def tensor_copy_predicated(
    src: Any, dst: Any, predicate: Any, reverse: bool = False, mask: Any = None
) -> None:
    """Copies the elements where the predicate is not zero; the others stay."""
    target = dst.part()
    instruction = Instruction("nki.isa.tensor_copy_predicated", target.shape, mask)
    launch, selection = instruction.launch, instruction.selection
    chosen = instruction.read(predicate, "predicate")
    before = operand(launch, target, "dst", selection)
    test = (chosen.data != 0) != reverse
    if is_number(src):
        side: Array = np.asarray(src, dtype=np.float32)
        missing: Any = False
    else:
        found = instruction.read(src, "src")
        side, missing = floats(found), False if found.undefined is None else found.undefined
    data = np.where(test, side, floats(before))
    kept = False if before.undefined is None else before.undefined
    undefined = np.broadcast_to(np.where(test, missing, kept), data.shape)
    record(launch, instruction.op, instruction.reads, [target], selection)
    origin = before.origin
    put(target, target.dtype.cast(data), undefined if undefined.any() else None, origin, selection)


def bn_stats(data: Any, *, mask: Any = None, dtype: Any = None) -> Tensor:
    """(P, 6): count, mean, count * variance of the even and of the odd elements.

    The order of the six is uncertain.
    """
    del mask  # what it leaves out is computed as well
    instruction = Instruction("nki.isa.bn_stats")
    found = instruction.read(data, "data")
    values = floats(found).reshape(found.data.shape[0], -1)
    columns: list[Array] = []
    for half in (values[:, 0::2], values[:, 1::2]):
        count = half.shape[1]
        middle = half.mean(axis=1) if count else np.zeros(values.shape[0], np.float32)
        columns += [
            np.full(values.shape[0], count, np.float32),
            middle,
            ((half - middle[:, None]) ** 2).sum(axis=1),
        ]
    return instruction.result(np.stack(columns, axis=1), dtype, found.dtype, _any_row(found, 6))


def bn_aggr(data: Any, *, mask: Any = None, dtype: Any = None) -> Tensor:
    """(P, 2): mean and variance of what ``bn_stats`` gave."""
    del mask  # what it leaves out is computed as well
    instruction = Instruction("nki.isa.bn_aggr")
    found = instruction.read(data, "data")
    rows = floats(found).reshape(found.data.shape[0], -1, 3)
    count, means, spread = rows[..., 0], rows[..., 1], rows[..., 2]
    total = count.sum(axis=1)
    middle = (count * means).sum(axis=1) / total
    variance = (spread + count * (means - middle[:, None]) ** 2).sum(axis=1) / total
    both = np.stack([middle, variance], axis=1)
    return instruction.result(both, dtype, found.dtype, _any_row(found, 2))


def _any_row(found: Values, width: int) -> Undefined:
    if found.undefined is None:
        return None, None
    missing = found.undefined.reshape(found.data.shape[0], -1).any(axis=1, keepdims=True)
    return np.broadcast_to(missing, (found.data.shape[0], width)), found.origin


def max8(*, src: Any, mask: Any = None, dtype: Any = None) -> Tensor:
    """(P, 8): the eight greatest elements of each partition, the greatest first."""
    del mask  # what it leaves out is computed as well
    instruction = Instruction("nki.isa.max8")
    found = instruction.read(src, "src")
    rows = floats(found).reshape(found.data.shape[0], -1)
    if not 8 <= rows.shape[1] <= 16384:
        instruction.launch.stop(
            "limit", f"nisa.max8 of {rows.shape[1]} elements; it takes 8 to 16384"
        )
    greatest = -np.sort(-rows, axis=1)[:, :8]
    return instruction.result(greatest, dtype, found.dtype, _any_row(found, 8))
