"""Reductions and scans in Triton's interpreter: of a combining function that a user has written.

The interpreter calls such a function once for each element, and takes a negative axis for another
one. Here it is called on whole slices, in the order of a tree; where it cannot be, element by
element after all.
"""

from __future__ import annotations

import contextlib
import dis
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any
from unittest import mock

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import ReduceOps, ReduceScanOpInterface, ScanOps, TensorHandle

from . import batches, narrow_floats


@contextlib.contextmanager
def in_slices() -> Iterator[None]:
    """Combine slices instead of elements, along axes that are counted from the end as well."""
    apply = ReduceScanOpInterface.apply

    def reduce_along_axis(operation: Any, values: Any) -> Any:
        if batches.current() is not None:
            return _of_batch(operation, values)
        axis = getattr(operation.axis, "value", operation.axis)
        first = values[0] if isinstance(values, tuple) else values
        operation.axis = axis + len(first.shape) if axis is not None and axis < 0 else axis
        return apply(operation, values)

    with (
        mock.patch.object(ReduceScanOpInterface, "apply", reduce_along_axis),
        mock.patch.object(ReduceOps, "generic_reduce", _or_each(_reduce, ReduceOps.generic_reduce)),
        mock.patch.object(ScanOps, "generic_scan", _or_each(_scan, ScanOps.generic_scan)),
    ):
        yield


def _or_each(quick: Callable[..., Any], slow: Callable[..., Any]) -> Callable[..., Any]:
    """What works on slices; where the function asks for a condition of a scalar, what does not."""

    def call(operation: Any, values: Any) -> Any:
        if _branches(operation.combine_fn):
            return slow(operation, values)
        return quick(operation, values)

    return call


@lru_cache(maxsize=256)
def _branches(function: Any) -> bool:
    """Whether a combining function may do something else for some elements than for others."""
    return any("JUMP" in one.opname for one in dis.get_instructions(function.fn))


def _reduce(operation: Any, values: Any) -> Any:
    """All elements along the axis as one, halves at a time."""
    whole, axis = operation.axis is None, operation.axis or 0
    dims = len(values[0].handle.data.shape)
    parts = [one.handle.data.reshape(-1) if whole else one.handle.data for one in values]
    parts = [np.moveaxis(one, axis, 0) for one in parts]
    kinds = [one.dtype for one in values]
    found = _halved(operation, parts, kinds)
    if operation.keep_dims:
        shape = [1] * dims
        found = [one.reshape(shape) if whole else np.expand_dims(one, axis) for one in found]
    return [operation.to_tensor(one, kind) for one, kind in zip(found, kinds, strict=True)]


def _halved(operation: Any, parts: list[Any], kinds: list[Any]) -> list[Any]:
    """All along the first axis as one."""
    while len(parts[0]) > 1:
        half = len(parts[0]) // 2
        odd = [one[2 * half :] for one in parts]
        low, high = [one[:half] for one in parts], [one[half : 2 * half] for one in parts]
        made = _call(operation, low, high, kinds)
        parts = [np.concatenate([one, rest]) for one, rest in zip(made, odd, strict=True)]
    return [one[0] for one in parts]


def _scan(operation: Any, values: Any) -> Any:
    """The running combination: after k rounds each has taken in 2^k elements before it."""
    parts = [np.moveaxis(one.handle.data, operation.axis, 0) for one in values]
    kinds = [one.dtype for one in values]
    parts = _running(operation, parts, kinds)
    found = [np.ascontiguousarray(np.moveaxis(one, 0, operation.axis)) for one in parts]
    return [operation.to_tensor(one, kind) for one, kind in zip(found, kinds, strict=True)]


def _running(operation: Any, parts: list[Any], kinds: list[Any]) -> list[Any]:
    """The running combination along the first axis."""
    step = 1
    while step < len(parts[0]):
        made = _call(
            operation, [one[:-step] for one in parts], [one[step:] for one in parts], kinds
        )
        parts = [np.concatenate([one[:step], more]) for one, more in zip(parts, made, strict=True)]
        step *= 2
    return parts


def _call(operation: Any, low: list[Any], high: list[Any], kinds: list[Any]) -> list[Any]:
    """The combining function on slices of any length, as flat blocks."""
    shape = low[0].shape
    size = low[0].size
    blocks = [_block(one, kind) for one, kind in zip((*low, *high), (*kinds, *kinds), strict=True)]
    made = operation.combine_fn(*blocks)
    several = made if isinstance(made, tuple | tl.tuple) else (made,)
    return [
        _data(one, size).astype(part.dtype).reshape(shape)
        for one, part in zip(several, low, strict=True)
    ]


def _block(data: Any, kind: Any) -> Any:
    """Elements as a block of a length that Triton allows: a power of two."""
    size = 1 << max(data.size - 1, 0).bit_length()
    flat = np.resize(data.reshape(-1), size)
    flat = flat if batches.current() is None else flat[None]
    return tl.tensor(TensorHandle(flat, kind.scalar), tl.block_type(kind.scalar, [size]))


def _data(value: Any, size: int) -> Any:
    if not isinstance(value, tl.tensor):
        return np.full(size, value)
    data = value.handle.data.reshape(-1)
    return data[:size] if data.size >= size else np.full(size, data[0])


def _of_batch(operation: Any, values: Any) -> Any:
    """The same for all programs of a batch, whose axis is the first; narrow floats in single
    precision."""
    several = values if isinstance(values, tuple) else (values,)
    rank = len(several[0].shape)
    wide = [narrow_floats.wide_of(one.handle) for one in several]
    count = max(len(one.data) for one in wide)
    parts = [np.broadcast_to(one.data, (count, *one.data.shape[1:])) for one in wide]
    axis = getattr(operation.axis, "value", operation.axis)
    if axis is None:
        parts, axis = [one.reshape(count, -1) for one in parts], 1
        is_whole = True
    else:
        axis, is_whole = 1 + axis % rank, False
    kinds = [one.dtype for one in wide]
    if isinstance(operation, ReduceOps):
        made = _reduced(operation, parts, kinds, axis)
        if getattr(operation.keep_dims, "value", operation.keep_dims):
            ones = (count, *[1] * rank)
            made = [o.reshape(ones) if is_whole else np.expand_dims(o, axis) for o in made]
    else:
        made = _scanned(operation, parts, kinds, axis)
    of = [one.dtype.scalar for one in several]
    if len(made) == 2 and len(several) == 1:
        of.append(tl.int32)
    found = tuple(_value(one, kind) for one, kind in zip(made, of, strict=False))
    return found if isinstance(values, tuple) else found[0]


def _reduced(operation: Any, parts: list[Any], kinds: list[Any], axis: int) -> list[Any]:
    """Each reduction that Triton's interpreter knows by numpy's, others in slices."""
    known, of = tl.standard, operation.combine_fn
    first = parts[0]
    if of is known._sum_combine:
        return [np.sum(first, axis=axis)]
    if of is known._elementwise_max:
        return [np.nanmax(first, axis=axis)]
    if of is known._elementwise_min:
        return [np.nanmin(first, axis=axis)]
    if of in (known._argmax_combine_tie_break_left, known._argmax_combine_tie_break_fast):
        return [np.nanmax(first, axis=axis), np.nanargmax(first, axis=axis)]
    if of in (known._argmin_combine_tie_break_left, known._argmin_combine_tie_break_fast):
        return [np.nanmin(first, axis=axis), np.nanargmin(first, axis=axis)]
    _refuse_branches(operation)
    return _halved(operation, [np.moveaxis(one, axis, 0) for one in parts], kinds)


def _scanned(operation: Any, parts: list[Any], kinds: list[Any], axis: int) -> list[Any]:
    is_reverse = getattr(operation.reverse, "value", operation.reverse)
    parts = [np.flip(one, axis) for one in parts] if is_reverse else parts
    if operation.combine_fn is tl.standard._sum_combine:
        made = [np.cumsum(parts[0], axis=axis)]
    elif operation.combine_fn is tl.standard._prod_combine:
        made = [np.cumprod(parts[0], axis=axis)]
    else:
        _refuse_branches(operation)
        moved = [np.moveaxis(one, axis, 0) for one in parts]
        made = [np.moveaxis(one, 0, axis) for one in _running(operation, moved, kinds)]
    return [np.flip(one, axis) for one in made] if is_reverse else made


def _refuse_branches(operation: Any) -> None:
    if _branches(operation.combine_fn):
        raise batches.UnbatchableError("a combining function does not do the same for all elements")


def _value(data: Any, kind: Any) -> Any:
    """An array as a value of the language; rounded to a narrow float where it is one."""
    if kind in narrow_floats.NARROW:
        data = narrow_floats.narrowed(data, kind)
    else:
        data = data.astype(interpreter._get_np_dtype(kind))
    shape = list(data.shape[1:])
    made = TensorHandle(np.ascontiguousarray(data), kind)
    return tl.tensor(made, tl.block_type(kind, shape) if shape else kind)
