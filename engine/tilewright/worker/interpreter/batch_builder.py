"""Operations of Triton's interpreter on values of many programs at once.

A scalar has the shape (programs,), a block (programs, *shape); the first extent is 1 where all
programs have the same value. Operations by element need no change. Those that change shapes or
touch memory are defined here; all others are refused, so that nothing is computed along a wrong
axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from .batches import Batch, UnbatchableError

_BY_ELEMENT = """
    fadd fmul fdiv frem fsub fneg mul precise_divf approx_divf sdiv udiv srem urem add sub shl
    lshr ashr idiv minsi minui minimumf minnumf maxsi maxui maximumf maxnumf clampf fma and xor
    or umulhi select fabs cos exp exp2 iabs floor ceil log log2 precise_sqrt sqrt sin erf rsqrt
    si_to_fp ui_to_fp fp_to_si fp_to_ui fp_ext fp_trunc int_cast fp_to_fp bitcast int_to_ptr
    ptr_to_int addptr icmpSLE icmpSLT icmpSGE icmpSGT icmpULE icmpULT icmpUGE icmpUGT icmpEQ
    icmpNE fcmpOLT fcmpOGT fcmpOLE fcmpOGE fcmpOEQ fcmpONE fcmpULT fcmpUGT fcmpULE fcmpUGE
    fcmpUEQ fcmpUNE
"""
# Of the last axes alone, the same for all programs, or made of operations that are defined here.
_ALIKE = {
    "create_dot", "create_split", "create_get_num_programs", "create_load", "create_store",
    "create_assert", "create_assume", "create_barrier", "create_make_tensor_descriptor",
    "create_descriptor_load", "create_descriptor_store", "create_descriptor_reduce",
}  # fmt: skip
_IN_ANY_ORDER = ("ADD", "FADD", "MAX", "UMAX", "MIN", "UMIN", "AND", "OR", "XOR")


class BatchBuilder(InterpreterBuilder):  # type: ignore[misc]
    """The interpreter's builder for one batch."""

    def __init__(self, like: Any, batch: Batch) -> None:
        self.__dict__.update(like.__dict__)
        self.batch = batch

    def __getattr__(self, name: str) -> Any:
        if name.startswith("create_"):
            raise UnbatchableError(_refusal(name))
        raise AttributeError(name)

    def create_get_program_id(self, axis: int) -> Any:
        return TensorHandle(self.batch.program_ids(axis), tl.int32)

    def create_make_range(self, kind: Any, start: int, stop: int) -> Any:
        return TensorHandle(np.arange(start, stop, dtype=np.int32)[None], tl.int32)

    def create_splat(self, block: Any, scalar: Any) -> Any:
        shape, data = tuple(block.shape), _first(scalar.data)
        if data.dtype != np.bool_:
            data = data.astype(interpreter._get_np_dtype(scalar.dtype))
        kind = tl.int1 if data.dtype == np.bool_ else scalar.dtype.scalar
        data = data.reshape(-1, *[1] * len(shape))
        return TensorHandle(np.broadcast_to(data, (len(data), *shape)), kind)

    def create_unsplat(self, block: Any) -> Any:
        return TensorHandle(_first(block.data), block.dtype.scalar)

    def create_reshape(self, block: Any, shape: Any, allow_reorder: bool) -> Any:
        return _handle_like(block, block.data.reshape(len(block.data), *shape))

    def create_trans(self, block: Any, order: Any) -> Any:
        return _handle_like(block, np.transpose(block.data, (0, *(1 + axis for axis in order))))

    def create_expand_dims(self, block: Any, axis: int) -> Any:
        return _handle_like(block, np.expand_dims(block.data, axis + 1))

    def create_broadcast(self, block: Any, shape: Any) -> Any:
        return _handle_like(block, np.broadcast_to(block.data, (len(block.data), *shape)))

    def create_cat(self, low: Any, high: Any) -> Any:
        return _handle_like(low, np.concatenate(_alike(low.data, high.data), axis=1))

    def create_join(self, first: Any, second: Any) -> Any:
        return _handle_like(first, np.stack(_alike(first.data, second.data), axis=-1))

    def create_gather(self, source: Any, indices: Any, axis: int) -> Any:
        data, at = _alike(source.data, indices.data)
        return _handle_like(source, np.take_along_axis(data, at, axis=axis + 1))

    # The cache policy is one argument since Triton 3.7 and two before.

    def create_masked_load(self, pointers: Any, mask: Any, other: Any, *_: Any) -> Any:
        kind = pointers.get_element_ty()
        dtype = interpreter._get_np_dtype(kind)
        filled = np.zeros(1, dtype=dtype) if other is None else other.data
        places, active, filled = _whole(self._together(pointers.data, mask.data, filled))
        batch = self.batch
        alike = len(places) < len(batch.programs)
        owners = None if alike else batch.programs
        batch.widest = max(batch.widest, places[0].size)
        batch.footprints.load(places, active, dtype.itemsize, owners)
        return TensorHandle(interpreter._interpreter.load(places, active, filled, dtype), kind)

    def create_masked_store(self, pointers: Any, value: Any, mask: Any, *_: Any) -> Any:
        places, active, data = self._of_each(pointers, mask, value)
        self.batch.footprints.store(places, active, data.itemsize, self.batch.programs)
        self.batch.footprints.keep(places, active, data.dtype)
        return interpreter._interpreter.store(places, data, active)

    def create_atomic_rmw(
        self, how: Any, pointers: Any, value: Any, mask: Any, sem: Any, scope: Any
    ) -> Any:
        unused, self.batch.result_unused = self.batch.result_unused, False
        if not unused or how not in [getattr(ir.ATOMIC_OP, name) for name in _IN_ANY_ORDER]:
            raise UnbatchableError("an atomic operation's result depends on the order of programs")
        places, active, data = self._of_each(pointers, mask, value)
        self.batch.footprints.update(places, active, data.itemsize, self.batch.programs)
        self.batch.footprints.keep(places, active, data.dtype)
        each = (
            TensorHandle(places, pointers.dtype),
            TensorHandle(data, value.dtype),
            TensorHandle(active, tl.int1),
        )
        return super().create_atomic_rmw(how, *each, sem, scope)

    def _of_each(self, pointers: Any, mask: Any, value: Any) -> list[Any]:
        """Pointers, mask and value of each program, also where all have the same."""
        count = np.zeros(
            (len(self.batch.programs), *[1] * (pointers.data.ndim - 1)), dtype=np.bool_
        )
        places, active, data, _ = self._together(pointers.data, mask.data, value.data, count)
        self.batch.widest = max(self.batch.widest, places[0].size)
        return _whole([places, active, data])

    def _together(self, pointers: Any, *others: Any) -> list[Any]:
        """Arrays in the shape of all of them; a scalar stands for each element of a block."""
        rank = pointers.ndim
        shaped = [one.reshape(-1, *[1] * (rank - 1)) if one.ndim == 1 else one for one in others]
        return list(np.broadcast_arrays(pointers, *shaped))


_KNOWN = {
    *(f"create_{name}" for name in _BY_ELEMENT.split()),
    *_ALIKE,
    *(name for name in vars(BatchBuilder) if name.startswith("create_")),
}


def _refusal(name: str) -> str:
    return f"{name.removeprefix('create_')} is made for one program at a time"


def _refused(name: str) -> property:
    def refuse(builder: Any) -> Any:
        raise UnbatchableError(_refusal(name))

    return property(refuse)


# Members that are defined for one program alone; asking each time would take longer.
for _name in dir(InterpreterBuilder):
    if _name.startswith("create_") and _name not in _KNOWN:
        setattr(BatchBuilder, _name, _refused(_name))


def block_pointers_of(descriptor: Any, offsets: Any) -> tuple[Any, Any]:
    """(pointers, mask) of a tensor descriptor's block, at offsets that may differ by program."""
    shape, kind = descriptor.block_shape, descriptor.base.dtype
    width = kind.element_ty.primitive_bitwidth // 8
    pointers = descriptor.base.data.reshape(-1, *[1] * len(shape))
    mask = np.ones((1, *shape), dtype=np.bool_)
    assert ((_first(offsets[-1].data) * width) % 16 == 0).all(), (
        "block offset must be 16-byte aligned"
    )
    for axis, size in enumerate(shape):
        around = [size if one == axis else 1 for one in range(len(shape))]
        first = _first(offsets[axis].data).reshape(-1, *[1] * len(shape))
        at = first + np.arange(size).reshape(1, *around)
        stride, extent = (_first(one[axis].data) for one in (descriptor.strides, descriptor.shape))
        pointers = pointers + (width * at * stride.reshape(-1, *[1] * len(shape))).astype(np.uint64)
        mask = mask & (at >= 0) & (at < extent.reshape(-1, *[1] * len(shape)))
    pointers = np.broadcast_to(pointers, np.broadcast_shapes(pointers.shape, mask.shape))
    return TensorHandle(pointers, kind.scalar), TensorHandle(mask, tl.int1)


def _first(data: Any) -> Any:
    """Each program's value of what has one element."""
    return data.reshape(len(data), -1)[:, 0]


def _handle_like(like: Any, data: Any) -> Any:
    return TensorHandle(data, like.dtype.scalar)


def _alike(one: Any, other: Any) -> tuple[Any, Any]:
    """Both for as many programs."""
    count = max(len(one), len(other))
    first, second = (np.broadcast_to(each, (count, *each.shape[1:])) for each in (one, other))
    return first, second


def _whole(arrays: list[Any]) -> list[Any]:
    """As the interpreter's functions need them."""
    return [np.ascontiguousarray(one) for one in arrays]
