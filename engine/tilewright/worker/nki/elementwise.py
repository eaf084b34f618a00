"""Instructions that work on each element, and reductions along the free axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import dtypes, functions, tensors
from .arithmetic import (
    ON_CHIP,
    dtype_of,
    floats,
    new_tile,
    operand,
    padded,
    record,
    same_start,
    selection_of,
    undefined_of,
)
from .dtypes import DType
from .indices import Selection
from .launch import Launch, running
from .storage import Values
from .tensors import Tensor, Tile

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Numbers = (int, float, np.number, np.bool_)


def is_number(value: Any) -> bool:
    return isinstance(value, Numbers) or (isinstance(value, np.ndarray) and value.ndim == 0)


def scalar_dtype(value: Any) -> DType:
    """The type with which a Python number takes part in promotion."""
    if isinstance(value, (bool, np.bool_)):
        return dtypes.uint8
    if isinstance(value, np.generic):
        return dtypes.find(value.dtype) or dtypes.float32
    return dtypes.int32 if isinstance(value, int) else dtypes.float32


def function_name(launch: Launch, token: Any, known: Any, what: str) -> str:
    """The name of a function that an instruction may apply.

    Raises:
        KernelFault: the simulator does not know it.
    """
    if token is None:
        launch.stop("argument", f"{what} needs a function, such as nl.add")
    name = functions.name_of(token)
    if name not in known:
        launch.stop("unsupported", f"the simulator has no function {name!r} for {what}")
    return name


def unary(
    op: str, name: str, x: Any, dtype: Any = None, mask: Any = None, engine: str = ""
) -> Tensor:
    """``name(x)``: one function of each element."""
    launch = running()
    tile = _tile(launch, x, op)
    selection = selection_of(launch, mask, tile.shape)
    found = operand(launch, tile, "x", selection)
    data = apply_unary(launch, name, found, selection)
    otherwise = dtypes.uint8 if name in functions.COMPARISONS else found.dtype
    result = new_tile(
        launch, op, data, dtype_of(launch, dtype, otherwise), found.undefined, found.origin,
        selection=selection,
    )  # fmt: skip
    record(launch, op, [found], [result], selection, engine)
    return result


def apply_unary(
    launch: Launch, name: str, found: Values, selection: Selection | None = None
) -> Array:
    data = floats(found)
    _check_domain(launch, name, data, found.undefined, selection)
    result = functions.UNARY[name](data)
    return result if result is not data else data.copy()


def _check_domain(
    launch: Launch, name: str, data: Array, undefined: Array | None, selection: Selection | None
) -> None:
    """Warns of arguments for which the scalar engine's function is not defined."""
    domain = functions.DOMAINS.get(name)
    if domain is None or not data.size:
        return
    if undefined is not None or selection is not None:
        kept = np.ones(data.shape, bool) if selection is None else selection.array(data.shape)
        if undefined is not None:
            kept &= ~undefined
        data = data[kept]
        if not data.size:
            return
    low, high = float(np.min(data)), float(np.max(data))
    if low < domain[0] or high > domain[1]:
        launch.report(
            "domain",
            f"{name} of {low:.3g} to {high:.3g}; the scalar engine defines it from "
            f"{domain[0]:.3g} to {domain[1]:.3g}",
            "warning",
        )


def _tile(launch: Launch, value: Any, what: str) -> Tile:
    if not isinstance(value, Tile):
        launch.stop("argument", f"{what} takes a tile, not {type(value).__name__}")
    return value


def binary(
    op: str,
    name: str,
    x: Any,
    y: Any,
    dtype: Any = None,
    mask: Any = None,
    engine: str = "",
    by_operator: bool = False,
) -> Tensor:
    """``x op y`` of two tiles or of a tile and a number.

    Args:
        by_operator: written ``x + y``, which does not broadcast over partitions.
    """
    launch = running()
    if is_number(x) and is_number(y):
        launch.stop("argument", f"{op} of two numbers: Python computes it")
    shape = broadcast_shape(launch, op, x, y, by_operator)
    selection = selection_of(launch, mask, shape)
    first = None if is_number(x) else operand(launch, _tile(launch, x, op), "x", selection)
    second = None if is_number(y) else operand(launch, _tile(launch, y, op), "y", selection)
    data = combine(launch, name, _side(first, x), _side(second, y), exact=_exact(engine, x, y))
    undefined, origin = undefined_of(first, second)
    result_type = _result_type(launch, name, dtype, x, y)
    result = new_tile(
        launch, op, _spread(data, shape), result_type, undefined, origin, selection=selection
    )
    reads = [v for v in (first, second) if v is not None]
    record(launch, op, reads, [result], selection, engine)
    return result


def _side(found: Values | None, number: Any) -> Any:
    return number if found is None else found.data


def _spread(data: Array, shape: Shape) -> Array:
    return data if data.shape == shape else np.broadcast_to(data, shape)


def _exact(engine: str, x: Any, y: Any) -> bool:
    """Integers stay exact on the GpSimd engine alone."""
    return engine == "gpsimd" and all(is_number(v) or v.dtype.kind in "iu" for v in (x, y))


def _result_type(launch: Launch, name: str, dtype: Any, x: Any, y: Any) -> DType:
    if dtype is not None:
        return dtype_of(launch, dtype, dtypes.float32)
    if name in functions.COMPARISONS:
        return dtypes.uint8
    sides = [scalar_dtype(v) if is_number(v) else v.dtype for v in (x, y)]
    return dtypes.promote(*sides)


def broadcast_shape(launch: Launch, op: str, x: Any, y: Any, by_operator: bool = False) -> Shape:
    """The shape of an elementwise result.

    Raises:
        KernelFault: the operands do not fit.
    """
    if is_number(x):
        return _tile(launch, y, op).shape
    if is_number(y):
        return _tile(launch, x, op).shape
    first, second = _tile(launch, x, op).shape, _tile(launch, y, op).shape
    if first == second:
        return first
    rank = max(len(first), len(second))
    wide = [s[:1] + (1,) * (rank - len(s)) + s[1:] for s in (first, second)]
    fits = all(n == m or 1 in (n, m) for n, m in zip(*wide, strict=True))
    if not fits:
        launch.stop(
            "shape",
            f"{op} of tiles of {list(first)} and {list(second)} (err_num_partition_mismatch)"
            if first[0] != second[0]
            else f"{op} of tiles of {list(first)} and {list(second)}",
        )
    if by_operator and first[0] != second[0]:
        launch.stop(
            "shape",
            f"an operator between {first[0]} and {second[0]} partitions: operators do not "
            "broadcast over partitions; use nl.add and the like, or .broadcast_to",
        )
    return tuple(max(n, m) for n, m in zip(*wide, strict=True))


def combine(launch: Launch, name: str, x: Any, y: Any, exact: bool = False) -> Array:
    """``x op y`` of two arrays or numbers, as an engine computes it.

    Raises:
        KernelFault: a function of bits of floats.
    """
    if name in functions.BITS:
        return _bits(launch, name, x, y)
    if exact and name in functions.EXACT_INTEGERS:
        kind = x.dtype if isinstance(x, np.ndarray) else y.dtype
        with np.errstate(over="ignore"):
            return functions.EXACT_INTEGERS[name](
                np.asarray(x).astype(kind), np.asarray(y).astype(kind)
            )
    a, b = _float(x), _float(y)
    if a.ndim != b.ndim:
        rank = max(a.ndim, b.ndim)
        a, b = padded(a, rank), padded(b, rank)
    return functions.BINARY[name](a, b)


def _float(value: Any) -> Array:
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        return value
    return np.asarray(value, dtype=np.float32)


def _bits(launch: Launch, name: str, x: Any, y: Any) -> Array:
    sides = [v for v in (x, y) if isinstance(v, np.ndarray)]
    if any(v.dtype.kind == "f" for v in sides):
        launch.stop("argument", f"{name} is a function of integers, not of floats")
    kind = sides[0].dtype
    return functions.BITS[name](np.asarray(x).astype(kind), np.asarray(y).astype(kind))


def tensor_scalar(
    data: Any,
    steps: Sequence[tuple[Any, Any, bool]],
    dtype: Any = None,
    mask: Any = None,
    engine: str = "",
    op: str = "nki.isa.tensor_scalar",
) -> Tensor:
    """``(data op0 operand0) op1 operand1``, each operand a number or a column of numbers.

    Args:
        steps: (function, operand, whether the operand comes first).
    """
    launch = running()
    tile = _tile(launch, data, "data")
    selection = selection_of(launch, mask, tile.shape)
    found = operand(launch, tile, "data", selection, engine=engine)
    current: Any = found.data
    columns: list[Values] = []
    for token, value, reverse in steps:
        if token is None:
            continue
        known = functions.BINARY.keys() | functions.BITS.keys()
        name = function_name(launch, token, known, op)
        side = _column(launch, value, found, columns)
        pair = (side, current) if reverse else (current, side)
        current = combine(launch, name, *pair, exact=_exact(engine, data, 0))
    undefined, origin = undefined_of(found, *columns)
    result = new_tile(
        launch, op, _spread(current, found.data.shape), dtype_of(launch, dtype, tile.dtype),
        undefined, origin, selection=selection,
    )  # fmt: skip
    record(launch, op, [found, *columns], [result], selection, engine)
    return result


def _column(launch: Launch, value: Any, found: Values, columns: list[Values]) -> Any:
    """A number, or one number for each partition."""
    if is_number(value):
        return value
    column = operand(launch, value, "an operand")
    shape = column.data.shape
    if int(np.prod(shape[1:])) != 1 or shape[0] not in (1, found.data.shape[0]):
        launch.stop(
            "shape",
            f"an operand of {list(shape)}: it is a number or a tile of [{found.data.shape[0]}, 1]",
        )
    if shape[0] != found.data.shape[0]:
        launch.stop("shape", f"an operand of {list(shape)} for {found.data.shape[0]} partitions")
    columns.append(column)
    return column.data.reshape(shape[0], *(1,) * (found.data.ndim - 1))


def tensor_tensor(
    data1: Any, data2: Any, token: Any, dtype: Any = None, mask: Any = None, engine: str = ""
) -> Tensor:
    """``data1 op data2`` of two tiles of the same partitions and elements."""
    launch = running()
    op = "nki.isa.tensor_tensor"
    name = function_name(launch, token, functions.BINARY.keys() | functions.BITS.keys(), op)
    first_tile, second_tile = _tile(launch, data1, "data1"), _tile(launch, data2, "data2")
    selection = selection_of(launch, mask, first_tile.shape)
    first = operand(launch, first_tile, "data1", selection, engine=engine)
    second = operand(launch, second_tile, "data2", selection, engine=engine)
    not_both_in_psum(launch, first, second, op)
    same_start(launch, first, second, op)
    fit_second(launch, first, second, op)
    data = combine(launch, name, first.data, second.data, exact=_exact(engine, data1, data2))
    undefined, origin = undefined_of(first, second)
    otherwise = dtypes.promote(first.dtype, second.dtype)
    result = new_tile(
        launch, op, _spread(data, first.data.shape), dtype_of(launch, dtype, otherwise), undefined,
        origin, selection=selection,
    )  # fmt: skip
    record(launch, op, [first, second], [result], selection, engine)
    return result


def fit_second(launch: Launch, first: Values, second: Values, op: str) -> None:
    """Gives the second operand the shape of the first.

    Raises:
        KernelFault: other partitions or elements.
    """
    have, want = second.data.shape, first.data.shape
    if have == want:
        return
    if have[0] != want[0] or second.data.size != first.data.size:
        launch.stop("shape", f"{op} of tiles of {list(want)} and {list(have)}")
    second.data = second.data.reshape(want)
    if second.undefined is not None:
        second.undefined = second.undefined.reshape(want)


def not_both_in_psum(launch: Launch, first: Values, second: Values, op: str) -> None:
    if first.memory == "PSUM" and second.memory == "PSUM":
        launch.stop(
            "memory",
            f"{op}: both operands are in PSUM, one may be (err_unsupported_memory): copy one",
        )


def free_axes(launch: Launch, axis: Any, rank: int, op: str) -> tuple[int, ...]:
    """The axes of a reduction.

    Raises:
        KernelFault: the partition axis is one of them.
    """
    given = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis or ())
    axes = tuple(sorted(int(a) + rank if a < 0 else int(a) for a in given))
    if not axes or axes[0] <= 0 or axes[-1] >= rank:
        launch.stop(
            "argument",
            f"{op} over axis {axis} of a tile of {rank} axes: it reduces free axes (1 and up), not "
            "partitions",
        )
    return axes


def reduce_tile(
    op: str,
    name: str,
    data: Any,
    axis: Any,
    dtype: Any = None,
    mask: Any = None,
    negate: bool = False,
    keepdims: bool = False,
    mean: bool = False,
    engine: str = "",
) -> Tensor:
    """A reduction along free axes; one number for each partition keeps an axis of one element."""
    launch = running()
    tile = _tile(launch, data, "data")
    axes = free_axes(launch, axis, tile.ndim, op)
    selection = selection_of(launch, mask, tile.shape)
    found = operand(launch, tile, "data", selection)
    values = floats(found) if name not in functions.BITS else found.data
    missing = found.undefined
    rows: Selection | None = None
    if selection is not None:
        values, missing, rows = _masked_rows(name, values, missing, selection)
    folded = functions.fold(name, values, axes)
    if mean:
        count = int(np.prod([values.shape[a] for a in axes]))
        folded = folded / np.float32(count)
    if negate:
        folded = -folded
    undefined = None if missing is None else missing.any(axis=axes, keepdims=True)
    shape = reduced_shape(found.data.shape, axes, keepdims)
    result = new_tile(
        launch, op, folded.reshape(shape), dtype_of(launch, dtype, tile.dtype),
        None if undefined is None else undefined.reshape(shape), found.origin,
        selection=_narrow(rows, shape),
    )  # fmt: skip
    record(launch, op, [found], [result], selection, engine)
    return result


def _masked_rows(
    name: str, values: Array, missing: Array | None, selection: Selection
) -> tuple[Array, Array | None, Selection | None]:
    """Data whose masked elements change nothing, and the partitions that are reduced."""
    kept = selection.array(values.shape)
    neutral = {"add": 0.0, "multiply": 1.0, "maximum": -np.inf, "minimum": np.inf}.get(name, 0)
    values = np.where(kept, values, values.dtype.type(neutral))
    missing = None if missing is None else missing & kept
    low, high = selection.box[0]
    if (low, high) == (0, values.shape[0]):
        return values, missing, None
    return values, missing, Selection(((low, high),))


def _narrow(rows: Selection | None, shape: Shape) -> Selection | None:
    if rows is None:
        return None
    return Selection((rows.box[0], *((0, n) for n in shape[1:])))


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    if keepdims:
        return tuple(1 if a in axes else n for a, n in enumerate(shape))
    kept = tuple(n for a, n in enumerate(shape) if a not in axes)
    return kept if len(kept) > 1 else (*kept, 1)


def copy_tile(op: str, src: Any, dtype: Any = None, mask: Any = None, engine: str = "") -> Tensor:
    """A copy of a tile, perhaps of another type."""
    launch = running()
    tile = _tile(launch, src, "src")
    selection = selection_of(launch, mask, tile.shape)
    found = operand(launch, tile, "src", selection, ON_CHIP, engine)
    result = new_tile(
        launch, op, found.data.copy(), dtype_of(launch, dtype, tile.dtype), found.undefined,
        found.origin, selection=selection,
    )  # fmt: skip
    record(launch, op, [found], [result], selection, engine)
    return result


def broadcast_to(tile: Any, shape: Any) -> Tensor:
    """A tile whose axes of one element stretch; over partitions the tensor engine does it."""
    launch = running()
    wanted = tuple(int(n) for n in shape)
    found = operand(launch, tile, "the tile")
    have = found.data.shape
    if len(have) != len(wanted) or any(n not in (1, m) for n, m in zip(have, wanted, strict=True)):
        launch.stop("shape", f"a tile of {list(have)} is broadcast to {list(wanted)}")
    data = np.broadcast_to(found.data, wanted)
    undefined = None if found.undefined is None else np.broadcast_to(found.undefined, wanted)
    result = new_tile(
        launch, "nki.language.broadcast_to", data, tile.dtype, undefined, found.origin
    )
    record(launch, "nki.language.broadcast_to", [found], [result])
    return result


def _operator(name: str) -> Any:
    return lambda x, y: binary(f"nki.language.{name}", name, x, y, by_operator=True)


for _name in (*functions.BINARY, *functions.BITS):
    tensors.OPERATORS[_name] = _operator(_name)
tensors.OPERATORS["broadcast_to"] = broadcast_to
tensors.OPERATORS["copy"] = lambda x, dtype: copy_tile("nki.language.copy", x, dtype)
