"""Functions of ``triton.language.extra.libdevice`` for Triton's interpreter, which has none.

There they are empty and give None; here the common ones are computed by numpy in the operand's own
type, and the others say by name that the interpreter cannot compute them.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from . import batches, narrow_floats


def _by_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of torch's, on arrays."""
    return lambda x: function(torch.from_numpy(np.array(x, copy=True))).numpy()


_ONE: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "fabs": np.abs,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "fast_expf": np.exp,
    "fast_logf": np.log,
    "fast_tanhf": np.tanh,
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "rint": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "nearbyint": np.rint,
    "acosh": np.arccosh,
    "asinh": np.arcsinh,
    "atanh": np.arctanh,
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "sinpi": lambda x: np.sin(np.pi * x),
    "cospi": lambda x: np.cos(np.pi * x),
    "saturatef": lambda x: np.clip(x, 0, 1),
    "rcp_rn": np.reciprocal,
    "sqrt_rn": np.sqrt,
    "rsqrt_rn": lambda x: 1 / np.sqrt(x),
    "fast_sinf": np.sin,
    "fast_cosf": np.cos,
    "fast_tanf": np.tan,
    "fast_log2f": np.log2,
    "fast_log10f": np.log10,
    "fast_exp10f": lambda x: np.power(10.0, x),
    "logb": lambda x: np.frexp(x)[1] - 1.0,
    **{
        name: _by_torch(function)
        for name, function in (
            ("erf", torch.special.erf),
            ("erfc", torch.special.erfc),
            ("erfcx", torch.special.erfcx),
            ("erfinv", torch.special.erfinv),
            ("lgamma", torch.lgamma),
            ("tgamma", lambda x: torch.lgamma(x).exp()),
            ("normcdf", torch.special.ndtr),
            ("normcdfinv", torch.special.ndtri),
            ("j0", torch.special.bessel_j0),
            ("j1", torch.special.bessel_j1),
            ("y0", torch.special.bessel_y0),
            ("y1", torch.special.bessel_y1),
            ("cyl_bessel_i0", torch.special.i0),
            ("cyl_bessel_i1", torch.special.i1),
        )
    },
}
_TWO: dict[str, Callable[..., Any]] = {
    "pow": np.power,
    "fast_powf": np.power,
    "fmod": np.fmod,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "copysign": np.copysign,
    "fast_dividef": np.divide,
    "div_rn": np.divide,
    "add_rn": np.add,
    "sub_rn": np.subtract,
    "mul_rn": np.multiply,
    "fdim": lambda x, y: np.maximum(x - y, 0),
    "nextafter": np.nextafter,
    "remainder": lambda x, y: x - y * np.rint(x / y),
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
    "ldexp": np.ldexp,
    "scalbn": np.ldexp,
}
_MORE: dict[str, Callable[..., Any]] = {
    "fma": lambda x, y, z: np.float64(x) * y + z,
    "fma_rn": lambda x, y, z: np.float64(x) * y + z,
    "norm3d": lambda x, y, z: np.sqrt(x * x + y * y + z * z),
}
_TRUTHS: dict[str, Callable[..., Any]] = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "signbit": np.signbit,
    "finitef": np.isfinite,
    "isfinited": np.isfinite,
}
_ROUNDED = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
_WHOLE = {"int": tl.int32, "uint": tl.uint32, "ll": tl.int64, "ull": tl.uint64}
_INTO: dict[str, tuple[Callable[..., Any], Any]] = {
    **{
        f"{source}2{target}_{how}": (rounded, kind)
        for source in ("float", "double")
        for target, kind in _WHOLE.items()
        for how, rounded in _ROUNDED.items()
    },
    "llrint": (np.rint, tl.int64),
    "llround": (_ONE["round"], tl.int64),
    **{name: (function, tl.int1) for name, function in _TRUTHS.items()},
    **{
        f"{source}2{target}_rn": (lambda x: x, kind)
        for source in _WHOLE
        for target, kind in (("float", tl.float32), ("double", tl.float64))
    },
    "float_as_int": (lambda x: x.view(np.int32), tl.int32),
    "float_as_uint": (lambda x: x.view(np.uint32), tl.uint32),
    "int_as_float": (lambda x: x.view(np.float32), tl.float32),
    "uint_as_float": (lambda x: x.view(np.float32), tl.float32),
    "popc": (np.bitwise_count, tl.int32),
}
"""What gives another type than it is given."""
_PLACES = tuple(f"triton.language.extra.{of}libdevice" for of in ("", "cuda.", "hip."))


@contextlib.contextmanager
def computed() -> Iterator[None]:
    """Put these in libdevice's place, each device's own included, for modules that are imported
    inside the block."""
    with contextlib.ExitStack() as stack:
        for place in _PLACES:
            try:
                library = importlib.import_module(place)
            except ImportError:  # a backend that this Triton has not
                continue
            for name in _functions(library):
                stand_in = _stand_in(name)
                stack.enter_context(mock.patch.object(library, name, stand_in))
        yield


def _functions(library: Any) -> list[str]:
    """The functions of a library, but for what it imports."""
    return [
        name
        for name, one in vars(library).items()
        if callable(one)
        and not name.startswith("_")
        and getattr(one, "__module__", "") == library.__name__
    ]


def _stand_in(name: str) -> Callable[..., Any]:
    if name in _INTO:
        return _elementwise(*_INTO[name])
    function = _ONE.get(name) or _TWO.get(name) or _MORE.get(name)
    return _elementwise(function) if function else _unknown(name)


def _elementwise(function: Callable[..., Any], kind: Any = None) -> Callable[..., Any]:
    """A function of numpy's on the operands of a kernel; ``kind``: of its result, else theirs."""

    def call(*operands: Any, **ignored: Any) -> Any:
        tensors = [x for x in operands if isinstance(x, tl.tensor)]
        values = [
            narrow_floats.wide_of(x.handle).data if isinstance(x, tl.tensor) else x
            for x in operands
        ]
        values = _aligned(values)
        dtype = kind or tensors[0].dtype
        with np.errstate(all="ignore"):
            data = np.asarray(function(*values))
        if kind is None and dtype in narrow_floats.NARROW:
            data = narrow_floats.narrowed(data, dtype)
        else:
            data = data.astype(interpreter._get_np_dtype(dtype))
        widest = max(tensors, key=lambda x: x.handle.data.size)
        shaped = tl.block_type(dtype, widest.shape) if data.ndim and widest.shape else None
        return tl.tensor(TensorHandle(data, dtype), shaped or dtype)

    return call


def _aligned(values: list[Any]) -> list[Any]:
    """Values of a batch, whose scalars have the axis of its programs alone."""
    rank = max(np.ndim(one) for one in values)
    if batches.current() is None or rank < 2:
        return values
    return [one.reshape(-1, *[1] * (rank - 1)) if np.ndim(one) == 1 else one for one in values]


def _unknown(name: str) -> Callable[..., Any]:
    def refuse(*operands: Any, **ignored: Any) -> Any:
        raise NotImplementedError(
            f"libdevice.{name} cannot be computed in Triton's interpreter; check on a GPU"
        )

    return refuse
