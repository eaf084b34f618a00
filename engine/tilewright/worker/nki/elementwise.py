"""Instructions that work on each element, and reductions along the free axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import dtypes, functions, tensors
from .arithmetic import dtype_of, floats, new_tile, padded, record, same_start
from .dtypes import DType
from .indices import Selection
from .instruction import Instruction, is_number
from .launch import Launch, running
from .storage import Values
from .tensors import Tensor, Tile

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


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


def unary(op: str, name: str, x: Any, dtype: Any = None, mask: Any = None) -> Tensor:
    """``name(x)``: one function of each element."""
    tile = tile_of(running(), x, op)
    instruction = Instruction(op, tile.shape, mask)
    found = instruction.read(tile, "x")
    data = apply_unary(instruction, name, found)
    otherwise = dtypes.uint8 if name in functions.COMPARISONS else found.dtype
    return instruction.result(data, dtype, otherwise)


def apply_unary(instruction: Instruction, name: str, found: Values) -> Array:
    data = floats(found)
    _check_domain(instruction.launch, name, data, found.undefined, instruction.selection)
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


def tile_of(launch: Launch, value: Any, what: str) -> Tile:
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
    instruction = Instruction(op, shape, mask)
    first = x if is_number(x) else instruction.read(x, "x").data
    second = y if is_number(y) else instruction.read(y, "y").data
    data = combine(launch, name, first, second)
    return instruction.result(_spread(data, shape), dtype, _result_type(name, x, y))


def _spread(data: Array, shape: Shape) -> Array:
    return data if data.shape == shape else np.broadcast_to(data, shape)


def _exact(engine: str, x: Any, y: Any) -> bool:
    """Integers stay exact on the GpSimd engine alone."""
    return engine == "gpsimd" and all(is_number(v) or v.dtype.kind in "iu" for v in (x, y))


def _result_type(name: str, x: Any, y: Any) -> DType:
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
        return tile_of(launch, y, op).shape
    if is_number(y):
        return tile_of(launch, x, op).shape
    first, second = tile_of(launch, x, op).shape, tile_of(launch, y, op).shape
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
    engine: Any = "",
    op: str = "nki.isa.tensor_scalar",
) -> Tensor:
    """``(data op0 operand0) op1 operand1``, each operand a number or a column of numbers.

    Args:
        steps: (function, operand, whether the operand comes first).
    """
    launch = running()
    tile = tile_of(launch, data, "data")
    instruction = Instruction(op, tile.shape, mask, engine)
    found = instruction.read(tile, "data")
    current: Any = found.data
    for token, value, reverse in steps:
        if token is None:
            continue
        known = functions.BINARY.keys() | functions.BITS.keys()
        name = function_name(launch, token, known, op)
        side = instruction.column(value, found)
        pair = (side, current) if reverse else (current, side)
        current = combine(launch, name, *pair, exact=_exact(instruction.engine, data, 0))
    return instruction.result(_spread(current, found.data.shape), dtype, tile.dtype)


def tensor_tensor(
    data1: Any, data2: Any, op: Any, *, dtype: Any = None, mask: Any = None, engine: Any = ""
) -> Tensor:
    """``data1 op data2`` of two tiles of the same partitions and elements."""
    launch = running()
    what = "nki.isa.tensor_tensor"
    name = function_name(launch, op, functions.BINARY.keys() | functions.BITS.keys(), what)
    tiles = tile_of(launch, data1, "data1"), tile_of(launch, data2, "data2")
    instruction = Instruction(what, tiles[0].shape, mask, engine)
    first, second = instruction.read(tiles[0], "data1"), instruction.read(tiles[1], "data2")
    not_both_in_psum(launch, first, second, what)
    same_start(launch, first, second, what)
    fit_second(launch, first, second, what)
    exact = _exact(instruction.engine, data1, data2)
    data = combine(launch, name, first.data, second.data, exact)
    otherwise = dtypes.promote(first.dtype, second.dtype)
    return instruction.result(_spread(data, first.data.shape), dtype, otherwise)


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
) -> Tensor:
    """A reduction along free axes; one number for each partition keeps an axis of one element."""
    launch = running()
    tile = tile_of(launch, data, "data")
    axes = free_axes(launch, axis, tile.ndim, op)
    instruction = Instruction(op, tile.shape, mask)
    selection = instruction.selection
    found = instruction.read(tile, "data")
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
    record(launch, op, [found], [result], selection)
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


def copy_tile(op: str, src: Any, dtype: Any = None, mask: Any = None, engine: Any = "") -> Tensor:
    """A copy of a tile, perhaps of another type."""
    tile = tile_of(running(), src, "src")
    instruction = Instruction(op, tile.shape, mask, engine)
    found = instruction.read(tile, "src")
    return instruction.result(found.data.copy(), dtype, tile.dtype)


def broadcast_to(tile: Any, shape: Any) -> Tensor:
    """A tile whose axes of one element stretch; over partitions the tensor engine does it."""
    wanted = tuple(int(n) for n in shape)
    instruction = Instruction("nki.language.broadcast_to")
    found = instruction.read(tile, "the tile")
    have = found.data.shape
    if len(have) != len(wanted) or any(n not in (1, m) for n, m in zip(have, wanted, strict=True)):
        instruction.launch.stop("shape", f"a tile of {list(have)} is broadcast to {list(wanted)}")
    return instruction.result(np.broadcast_to(found.data, wanted), None, tile.dtype)


def _operator(name: str) -> Any:
    return lambda x, y: binary(f"nki.language.{name}", name, x, y, by_operator=True)


for _name in (*functions.BINARY, *functions.BITS):
    tensors.OPERATORS[_name] = _operator(_name)
tensors.OPERATORS["broadcast_to"] = broadcast_to
tensors.OPERATORS["copy"] = lambda x, dtype: copy_tile("nki.language.copy", x, dtype)
