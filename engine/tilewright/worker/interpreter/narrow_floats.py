"""bfloat16 and the 8-bit floats in Triton's interpreter, computed as a device computes them.

The interpreter keeps them as whole numbers of as many bits. Up to Triton 3.9 it then adds, compares
and multiplies those, cuts off what does not fit instead of rounding, and loses the carry of what it
does round. Here each operation is made in single precision and rounded to nearest even; 8-bit
floats saturate, as the instructions of devices that convert to them do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import torch
import triton.language as tl
from triton._C.libtriton import ir
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, ReduceOps, ScanOps, TensorHandle

NARROW: dict[Any, torch.dtype] = {
    tl.bfloat16: torch.bfloat16,
    tl.float8e5: torch.float8_e5m2,
    tl.float8e4nv: torch.float8_e4m3fn,
    tl.float8e5b16: torch.float8_e5m2fnuz,
    tl.float8e4b8: torch.float8_e4m3fnuz,
}
_FLOATS: dict[Any, torch.dtype] = {
    **NARROW, tl.float16: torch.float16, tl.float32: torch.float32, tl.float64: torch.float64,
}  # fmt: skip
_COMPUTING = (
    "create_fadd", "create_fsub", "create_fmul", "create_fdiv", "create_frem", "create_fneg",
    "create_precise_divf", "create_approx_divf", "create_minimumf", "create_minnumf",
    "create_maximumf", "create_maxnumf", "create_clampf", "create_fma", "create_exp", "create_exp2",
    "create_log", "create_log2", "create_sqrt", "create_precise_sqrt", "create_rsqrt", "create_sin",
    "create_cos", "create_erf", "create_floor", "create_ceil",
    *(f"create_fcmp{how}{what}" for how in "OU" for what in ("LT", "GT", "LE", "GE", "EQ", "NE")),
    "create_fcmpONE", "create_fcmpUNE",
)  # fmt: skip


@contextlib.contextmanager
def computed() -> Iterator[None]:
    """Have the interpreter compute with narrow floats as devices do."""
    with contextlib.ExitStack() as stack:
        for name in dict.fromkeys(_COMPUTING):
            function = getattr(InterpreterBuilder, name, None)
            if function is not None:
                wide = _in_single(function)
                stack.enter_context(mock.patch.object(InterpreterBuilder, name, wide))
        dot = _dot(InterpreterBuilder.create_dot)
        stack.enter_context(mock.patch.object(InterpreterBuilder, "create_dot", dot))
        cast = _cast(InterpreterBuilder.cast_impl)
        stack.enter_context(mock.patch.object(InterpreterBuilder, "cast_impl", cast))
        stack.enter_context(mock.patch.object(interpreter, "_convert_float", _convert))
        if not hasattr(InterpreterBuilder, "get_bf16"):  # up to Triton 3.6
            stack.enter_context(
                mock.patch.object(InterpreterBuilder, "get_bf16", _constant, create=True)
            )
        for kind in (ReduceOps, ScanOps):
            stack.enter_context(mock.patch.object(kind, "apply_impl", _combined(kind.apply_impl)))
        yield


def _constant(builder: Any, value: Any) -> Any:
    return TensorHandle(narrowed(np.array([value], dtype=np.float32), tl.bfloat16), tl.bfloat16)


def wide_of(handle: Any) -> Any:
    """A handle in single precision, where it is of a narrow float; else itself."""
    dtype = _narrow(handle)
    if dtype is None:
        return handle
    return TensorHandle(_decoded(handle.data, dtype), tl.float32)


def narrowed(data: Any, dtype: Any) -> Any:
    """Numbers as the bits of a narrow float."""
    return _encoded(data, NARROW[dtype])


def _narrow(value: Any) -> torch.dtype | None:
    if not isinstance(value, TensorHandle) or value.data.dtype == np.bool_:
        return None
    return NARROW.get(value.dtype.scalar)


def _decoded(data: Any, dtype: torch.dtype) -> Any:
    if dtype == torch.bfloat16:  # quicker than by torch
        return (np.asarray(data).astype(np.uint32) << 16).view(np.float32)
    bits = torch.from_numpy(np.array(data, copy=True).view(np.uint8))
    return bits.view(dtype).float().numpy()


def _encoded(data: Any, dtype: torch.dtype) -> Any:
    wide = torch.from_numpy(np.array(data, dtype=np.float32, copy=True))
    if dtype.itemsize == 1:
        most = torch.finfo(dtype).max
        wide = wide.clamp(-most, most)
        return wide.to(dtype).view(torch.uint8).numpy()
    return wide.to(dtype).view(torch.int16).numpy().view(np.uint16)


def _in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """An operation, made in single precision where operands are narrow."""

    def call(builder: Any, *operands: Any, **kwargs: Any) -> Any:
        narrow = next((one for one in operands if _narrow(one) is not None), None)
        if narrow is None:
            return function(builder, *operands, **kwargs)
        made = function(builder, *(wide_of(one) for one in operands), **kwargs)
        if made.data.dtype == np.bool_:
            return made
        return TensorHandle(narrowed(made.data, narrow.dtype.scalar), narrow.dtype.scalar)

    return call


def _dot(function: Callable[..., Any]) -> Callable[..., Any]:
    """A product, whose kind is that of what it is added to."""

    def dot(builder: Any, a: Any, b: Any, d: Any, *rest: Any) -> Any:
        made = function(builder, wide_of(a), wide_of(b), wide_of(d), *rest)
        kind = d.dtype.scalar
        return TensorHandle(narrowed(made.data, kind), kind) if _narrow(d) is not None else made

    return dot


def _cast(function: Callable[..., Any]) -> Callable[..., Any]:
    """A conversion: a narrow float to or from anything but its own kind."""

    def cast(builder: Any, src: Any, dst_type: Any) -> Any:
        kind = dst_type.scalar
        if _narrow(src) is None and kind not in NARROW:
            return function(builder, src, dst_type)
        wide = wide_of(src)
        if kind in NARROW:
            return TensorHandle(narrowed(wide.data, kind), kind)
        return function(builder, wide, dst_type)

    return cast


_convert_float = interpreter._convert_float


def _convert(data: Any, source: Any, target: Any, rounding: Any) -> Any:
    """Bits of floats as bits of other floats; ``rounding`` to nearest even unless it is to zero."""
    if source not in _FLOATS or target not in _FLOATS:
        return _convert_float(data, source, target, rounding)
    size = _FLOATS[source].itemsize
    if source in NARROW:
        wide = _decoded(np.asarray(data).view(f"u{size}"), NARROW[source])
    else:
        wide = np.ascontiguousarray(data).view(f"f{size}")
    width = _FLOATS[target].itemsize
    if target in NARROW:
        made = _encoded(wide, NARROW[target])
    else:
        with np.errstate(over="ignore"):
            made = wide.astype(f"f{width}").view(f"u{width}")
    if rounding == ir.ROUNDING_MODE.RTZ:
        made = _towards_zero(made, wide, target)
    return made.reshape(np.shape(data))


def _towards_zero(bits: Any, wide: Any, target: Any) -> Any:
    """The neighbour that is no larger, where rounding to nearest has gone away from zero."""
    if target in NARROW:
        back = _decoded(bits, NARROW[target])
    else:
        back = bits.view(f"f{_FLOATS[target].itemsize}")
    return np.where(np.abs(back) > np.abs(wide), bits - 1, bits).astype(bits.dtype)


def _combined(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Reductions and scans of narrow floats: Triton makes sums of them in single precision."""

    def call(operation: Any, values: Any) -> Any:
        kinds = [one.dtype.scalar for one in values]
        if not any(kind in NARROW for kind in kinds):
            return apply(operation, values)
        wide = tuple(_tensor(one) for one in values)
        made = apply(operation, wide)
        several = made if isinstance(made, tuple | list) else (made,)
        found = [_rounded(one, kind) for one, kind in zip(several, kinds, strict=False)]
        found += list(several[len(kinds) :])
        return tuple(found) if isinstance(made, tuple | list) else found[0]

    return call


def _tensor(value: Any) -> Any:
    if value.dtype.scalar not in NARROW:
        return value
    return _tensor_like(wide_of(value.handle), value.type)


def _rounded(value: Any, kind: Any) -> Any:
    if kind not in NARROW or value.dtype.scalar != tl.float32:
        return value
    return _tensor_like(TensorHandle(narrowed(value.handle.data, kind), kind), value.type)


def _tensor_like(handle: Any, like: Any) -> Any:
    """A tensor of a handle, with the shape of another's type."""
    kind = handle.dtype
    return tl.tensor(handle, tl.block_type(kind, like.shape) if like.is_block() else kind)
