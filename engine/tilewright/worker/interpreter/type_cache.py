"""Types and shapes of Triton's language made once: interpreted, each operation makes them anew.

Triton makes a few objects for the shape of each result, checks each of its extents, and looks up
numpy's dtypes in a table that it makes for each look. In the interpreter that is a third of the
time of a small launch. Types are never changed once they are made, so equal ones can share what is
in them.
"""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

_MOST = 4096
_OF_EACH = ("handle", "type", "dtype")
_SHAPES = (getattr(tl.core, "tuple", builtins.tuple), builtins.tuple, list)


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """Keep them inside the block."""
    with (
        mock.patch.object(tl.tensor, "__init__", _tensors()),
        mock.patch.object(tl.block_type, "__init__", _blocks()),
        mock.patch.object(interpreter, "_get_np_dtype", _numpy_dtypes()),
        mock.patch.object(TritonSemantic, "broadcast_impl_value", _broadcasts()),
    ):
        yield


def _tensors() -> Any:
    """``tensor.__init__`` that makes the attributes which follow from the shape once a shape."""
    begin = tl.tensor.__init__
    kept: dict[builtins.tuple[int, ...], dict[str, Any]] = {}

    def initialize(tensor: Any, handle: Any, type: Any) -> None:
        shape = _extents(type.shape) if type.is_block() else ()
        known = None if shape is None else kept.get(shape)
        if known is None:
            begin(tensor, handle, type)
            if shape is not None and len(kept) < _MOST:
                own = vars(tensor).items()
                kept[shape] = {name: value for name, value in own if name not in _OF_EACH}
            return
        tensor.__dict__.update(known)
        tensor.handle, tensor.type, tensor.dtype = handle, type, type.scalar

    return initialize


def _blocks() -> Any:
    """``block_type.__init__`` that checks a shape and makes its name once for each element type."""
    begin = tl.block_type.__init__
    kept: dict[Any, builtins.tuple[Any, dict[str, Any]]] = {}

    def initialize(block: Any, element_ty: Any, shape: Any) -> None:
        extents = _extents(shape)
        key = (id(element_ty), extents)
        known = kept.get(key)
        if known is not None:
            block.__dict__.update(known[1])
            return
        begin(block, element_ty, shape)
        if extents is not None and len(kept) < _MOST:
            # With the element type, whose id no other object can have as long as it is kept.
            kept[key] = (element_ty, vars(block).copy())

    return initialize


def _broadcasts() -> Any:
    """``broadcast_impl_value`` that compares no extents of values of one shape."""
    broadcast = TritonSemantic.broadcast_impl_value

    def broadcasted(semantic: Any, one: Any, other: Any) -> Any:
        mine, theirs = one.type, other.type
        if mine is theirs or (
            mine.is_block()
            and theirs.is_block()
            and (extents := _extents(mine.shape)) is not None
            and extents == _extents(theirs.shape)
        ):
            return one, other
        return broadcast(semantic, one, other)

    return broadcasted


def _extents(shape: Any) -> builtins.tuple[int, ...] | None:
    """The extents of a shape of plain numbers, which Triton keeps in a tuple of its own or of
    Python's; None of any other."""
    values = builtins.tuple(getattr(shape, "values", shape) if type(shape) in _SHAPES else (None,))
    return values if all(type(one) is int for one in values) else None


def _numpy_dtypes() -> Any:
    """``_get_np_dtype`` with a table that is made once."""
    look = interpreter._get_np_dtype
    kept: dict[int, builtins.tuple[Any, Any]] = {}

    def dtype_of(kind: Any) -> Any:
        known = kept.get(id(kind))
        if known is None:
            found = look(kind)
            if len(kept) >= _MOST:
                return found
            known = kept[id(kind)] = (kind, found)
        return known[1]

    return dtype_of
