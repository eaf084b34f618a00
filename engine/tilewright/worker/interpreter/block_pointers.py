"""Block pointers for a Triton whose language has none any more, in its interpreter.

A kernel for a chip whose own Triton still has them is interpreted by the one that is here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from . import batches


@dataclass(frozen=True)
class BlockPointer:
    """What ``tl.make_block_ptr`` gives: a view of memory, and which block of it."""

    base: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offsets: tuple[int, ...]
    block_shape: tuple[int, ...]

    @property
    def type(self) -> Any:
        """As Triton has it: a pointer to a block."""
        return tl.pointer_type(tl.block_type(self.base.dtype.element_ty, list(self.block_shape)))

    @property
    def dtype(self) -> Any:
        return self.type

    def advance(self, offsets: Sequence[Any]) -> BlockPointer:
        """The same view's block so much further."""
        moved = zip(self.offsets, _numbers(offsets), strict=True)
        return replace(self, offsets=tuple(at + by for at, by in moved))

    def elements(self, boundary_check: Sequence[Any]) -> tuple[Any, Any]:
        """(a pointer to each element, which of them to load or to store)."""
        kind = self.base.dtype.element_ty
        pointers = np.broadcast_to(self.base.handle.data, self.block_shape)
        inside = np.ones(self.block_shape, dtype=np.bool_)
        checked = _numbers(boundary_check)
        for dim, size in enumerate(self.block_shape):
            at = self.offsets[dim] + np.arange(size, dtype=np.int64)
            at = at.reshape([-1 if one == dim else 1 for one in range(len(self.block_shape))])
            width = max(1, kind.primitive_bitwidth // 8)
            pointers = pointers + (at * self.strides[dim] * width).astype(np.uint64)
            if dim in checked:
                inside = inside & (at >= 0) & (at < self.shape[dim])
        of = [list(self.block_shape)]
        found = TensorHandle(np.ascontiguousarray(pointers), self.base.dtype)
        mask = TensorHandle(np.ascontiguousarray(inside), tl.int1)
        return (
            tl.tensor(found, tl.block_type(self.base.dtype, *of)),
            tl.tensor(mask, tl.block_type(tl.int1, *of)),
        )


@contextlib.contextmanager
def available() -> Iterator[None]:
    """Have kernels that are interpreted find block pointers where the language has none."""
    if "removed" not in (tl.make_block_ptr.__doc__ or ""):
        yield
        return
    patch = interpreter._patch_lang

    def patched(function: Any) -> Any:
        scope = patch(function)
        load, store = tl.load, tl.store
        for lang in (tl, tl.core):
            for name, stand_in in _stand_ins(load, store).items():
                scope.set_attr(lang, name, stand_in)
        return scope

    with mock.patch.object(interpreter, "_patch_lang", patched):
        yield


def _stand_ins(load: Any, store: Any) -> dict[str, Any]:
    def make(
        base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any
    ) -> BlockPointer:
        parts = [_numbers(one) for one in (shape, strides, offsets, block_shape)]
        return BlockPointer(base, *parts)

    def advance(base: BlockPointer, offsets: Any) -> BlockPointer:
        return base.advance(offsets)

    def loaded(
        pointer: Any, mask: Any = None, other: Any = None, boundary_check: Any = (),
        padding_option: Any = "", **options: Any,
    ) -> Any:  # fmt: skip
        if not isinstance(pointer, BlockPointer):
            return load(pointer, mask, other, **options)
        pointers, inside = pointer.elements(boundary_check)
        padding = getattr(padding_option, "value", padding_option)
        filled = float("nan") if padding == "nan" else 0
        return load(pointers, inside, filled, **options)

    def stored(
        pointer: Any, value: Any, mask: Any = None, boundary_check: Any = (), **options: Any
    ) -> Any:
        if not isinstance(pointer, BlockPointer):
            return store(pointer, value, mask, **options)
        pointers, inside = pointer.elements(boundary_check)
        return store(pointers, value, inside, **options)

    return {"make_block_ptr": make, "advance": advance, "load": loaded, "store": stored}


def _numbers(values: Any) -> tuple[int, ...]:
    several = values if isinstance(values, Sequence | tl.tuple) else [values]
    return tuple(_number(one) for one in several)


def _number(value: Any) -> int:
    if isinstance(value, tl.tensor):
        return int(batches.number(value))
    return int(getattr(value, "value", value))
