"""Atomic operations that Triton's interpreter has no code for, made of those that it has.

Programs run one after another there, so loading, combining and storing an element is one step.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from . import narrow_floats

_COMBINED = {
    "ADD": np.add, "FADD": np.add, "MAX": np.maximum, "UMAX": np.maximum, "MIN": np.minimum,
    "UMIN": np.minimum, "AND": np.bitwise_and, "OR": np.bitwise_or, "XOR": np.bitwise_xor,
}  # fmt: skip


@contextlib.contextmanager
def completed() -> Iterator[None]:
    """Atomic operations on floats of any width, and on what a tensor descriptor shows."""
    rmw, cas = InterpreterBuilder.create_atomic_rmw, InterpreterBuilder.create_atomic_cas

    def changed(
        builder: Any, how: Any, pointers: Any, value: Any, mask: Any, sem: Any, scope: Any
    ) -> Any:
        kind = value.dtype.scalar
        if how == ir.ATOMIC_OP.XCHG and kind.is_floating():
            whole = _whole(kind)
            bits = TensorHandle(value.data.view(interpreter._get_np_dtype(whole)), whole)
            old = rmw(builder, how, pointers, bits, mask, sem, scope)
            return TensorHandle(old.data.view(value.data.dtype), kind)
        if kind == tl.bfloat16:
            shim = interpreter._interpreter
            order = builder.ir_sem_to_interpreter_sem[sem]
            with_kind = _OfBfloat16(builder.ir_rmw_op_to_interpreter_rmw_op[how])
            old = shim.atomic_rmw(with_kind, pointers.data, value.data, mask.data, order)
            return TensorHandle(old, kind)
        return rmw(builder, how, pointers, value, mask, sem, scope)

    def swapped(builder: Any, pointers: Any, wanted: Any, value: Any, sem: Any, scope: Any) -> Any:
        kind = value.dtype.scalar
        if not kind.is_floating():
            return cas(builder, pointers, wanted, value, sem, scope)
        whole = _whole(kind)
        dtype = interpreter._get_np_dtype(whole)
        sides = [TensorHandle(one.data.view(dtype), whole) for one in (wanted, value)]
        old = cas(builder, pointers, *sides, sem, scope)
        return TensorHandle(old.data.view(value.data.dtype), kind)

    with (
        mock.patch.object(InterpreterBuilder, "create_atomic_rmw", changed),
        mock.patch.object(InterpreterBuilder, "create_atomic_cas", swapped),
        mock.patch.object(InterpreterBuilder, "create_descriptor_reduce", _reduced, create=True),
        mock.patch.object(interpreter, "_interpreter", _Memory(interpreter._interpreter)),
    ):
        yield


def _whole(kind: Any) -> Any:
    return {8: tl.uint8, 16: tl.uint16, 32: tl.uint32, 64: tl.uint64}[kind.primitive_bitwidth]


def _reduced(builder: Any, kind: Any, descriptor: Any, value: Any, offsets: Any) -> Any:
    """An atomic operation on each element that a descriptor's block shows."""
    pointers, mask = descriptor.materialize_pointers(offsets)
    mask = mask if isinstance(mask, TensorHandle) else TensorHandle(mask, tl.int1)
    name = str(kind).rpartition(".")[2]
    operation = "FADD" if name == "ADD" and value.dtype.is_floating() else name
    unsigned = value.dtype.is_int_unsigned() and name in ("MIN", "MAX")
    how = getattr(ir.ATOMIC_OP, f"U{name}" if unsigned else operation)
    sem, scope = ir.MEM_SEMANTIC.RELAXED, ir.MEM_SYNC_SCOPE.GPU
    return builder.create_atomic_rmw(how, pointers, value, mask, sem, scope)


class _OfBfloat16:
    """An operation on bfloat16, whose bits look like whole numbers; equal to the operation."""

    def __init__(self, operation: Any) -> None:
        self.operation = operation

    def __eq__(self, other: object) -> bool:
        return bool(self.operation == other)

    def __hash__(self) -> int:
        return hash(self.operation)


class _Memory:
    """Stands where the interpreter expects the functions that touch memory."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def atomic_rmw(self, operation: Any, pointers: Any, values: Any, mask: Any, sem: Any) -> Any:
        """The interpreter's own, or element by element where it has none for such values."""
        if isinstance(operation, _OfBfloat16):
            return self._each(operation.operation, pointers, values, mask)
        return self._memory.atomic_rmw(operation, pointers, values, mask, sem)

    def _each(self, operation: Any, pointers: Any, values: Any, mask: Any) -> Any:
        combine = _COMBINED[str(operation).rpartition(".")[2]]
        old = np.zeros(pointers.shape, dtype=values.dtype)
        values, mask = (
            np.broadcast_to(values, pointers.shape),
            np.broadcast_to(mask, pointers.shape),
        )
        for at in np.ndindex(pointers.shape):
            if not mask[at]:
                continue
            place, there = pointers[at].reshape(1), np.ones(1, dtype=np.bool_)
            found = self._memory.load(place, there, np.zeros(1, values.dtype), values.dtype)
            both = [TensorHandle(one, tl.bfloat16) for one in (found, values[at].reshape(1))]
            wide = combine(*(narrow_floats.wide_of(one).data for one in both))
            self._memory.store(place, narrow_floats.narrowed(wide, tl.bfloat16), there)
            old[at] = found[0]
        return old
