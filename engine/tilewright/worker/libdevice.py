"""Functions of ``triton.language.extra.libdevice`` for Triton's interpreter, which has none.

There they are empty and give None; here the common ones are computed by numpy in the operand's own
type, and the others say by name that the interpreter cannot compute them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

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
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "rint": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
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
}


@contextlib.contextmanager
def computed() -> Iterator[None]:
    """Put these in libdevice's place for modules that are imported inside the block."""
    from triton.language.extra import libdevice

    named = [n for n, f in vars(libdevice).items() if callable(f) and not n.startswith("_")]
    with contextlib.ExitStack() as stack:
        for name in named:
            function = _ONE.get(name) or _TWO.get(name)
            stand_in = _elementwise(function) if function else _unknown(name)
            stack.enter_context(mock.patch.object(libdevice, name, stand_in))
        yield


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*operands: Any, **ignored: Any) -> Any:
        tensors = [x for x in operands if isinstance(x, tl.tensor)]
        values = [x.handle.data if isinstance(x, tl.tensor) else x for x in operands]
        with np.errstate(all="ignore"):
            data = np.asarray(function(*values)).astype(tensors[0].handle.data.dtype)
        widest = max(tensors, key=lambda x: x.handle.data.size)
        kind = tl.block_type(tensors[0].dtype, widest.shape) if data.ndim and widest.shape else None
        return tl.tensor(TensorHandle(data, tensors[0].dtype), kind or tensors[0].dtype)

    return call


def _unknown(name: str) -> Callable[..., Any]:
    def refuse(*operands: Any, **ignored: Any) -> Any:
        raise NotImplementedError(
            f"libdevice.{name} cannot be computed in Triton's interpreter; check on a GPU"
        )

    return refuse
