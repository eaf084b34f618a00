"""The functions that engines apply to elements, by their NKI names.

Functions of floats take and return float32; comparisons return zero or one. A name is that of
``nki.language`` or of numpy, whose functions kernels pass too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
Unary = Callable[[Array], Array]
Binary = Callable[[Array, Array], Array]

_ONE: Final = np.float32(1)
_HALF: Final = np.float32(0.5)
_erf_of_float = np.vectorize(math.erf, otypes=[np.float32])


def erf(x: Array) -> Array:
    """The error function, each element in fp64."""
    return np.asarray(_erf_of_float(x), dtype=np.float32)


def sigmoid(x: Array) -> Array:
    return np.asarray(_ONE / (_ONE + np.exp(-x)), dtype=np.float32)


def softplus(x: Array) -> Array:
    return np.logaddexp(x, np.float32(0)).astype(np.float32)


def gelu(x: Array) -> Array:
    return np.asarray(_HALF * x * (_ONE + erf(x * np.float32(math.sqrt(0.5)))))


def gelu_tanh(x: Array) -> Array:
    inner = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
    return np.asarray(_HALF * x * (_ONE + np.tanh(inner)))


def _gelu_tanh_dx(x: Array) -> Array:
    scale = np.float32(math.sqrt(2 / math.pi))
    t = np.tanh(scale * (x + np.float32(0.044715) * x**3))
    slope = scale * (_ONE + np.float32(3 * 0.044715) * x * x)
    return np.asarray(_HALF * (_ONE + t) + _HALF * x * (_ONE - t * t) * slope)


def _gelu_dx(x: Array) -> Array:
    density = np.exp(-_HALF * x * x) * np.float32(1 / math.sqrt(2 * math.pi))
    return np.asarray(_HALF * (_ONE + erf(x * np.float32(math.sqrt(0.5)))) + x * density)


def _silu_dx(x: Array) -> Array:
    s = sigmoid(x)
    return np.asarray(s * (_ONE + x * (_ONE - s)))


UNARY: Final[dict[str, Unary]] = {
    "copy": lambda x: x,
    "identity": lambda x: x,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: _ONE / np.sqrt(x),
    "reciprocal": lambda x: _ONE / x,
    "square": lambda x: x * x,
    "abs": np.abs,
    "negative": np.negative,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "silu_dx": _silu_dx,
    "gelu": gelu,
    "gelu_apprx_tanh": gelu_tanh,
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(np.float32(1.702) * x),
    "gelu_dx": _gelu_dx,
    "gelu_apprx_tanh_dx": _gelu_tanh_dx,
    "erf": erf,
    "erf_dx": lambda x: np.float32(2 / math.sqrt(math.pi)) * np.exp(-x * x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arctan": np.arctan,
    "softplus": softplus,
    "mish": lambda x: x * np.tanh(softplus(x)),
    "logical_not": lambda x: (x == 0).astype(np.float32),
}

# Inputs for which the scalar engine's functions are defined (the vendor's table).
DOMAINS: Final[dict[str, tuple[float, float]]] = {
    "log": (2.0**-64, 2.0**64),
    "sin": (-math.pi, math.pi),
    "arctan": (-math.pi / 2, math.pi / 2),
    "sqrt": (0.0, 2.0**118),
    "rsqrt": (2.0**-87, 2.0**97),
}


def _truth(function: Callable[..., Any]) -> Binary:
    return lambda x, y: np.asarray(function(x, y), dtype=np.float32)


BINARY: Final[dict[str, Binary]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "power": np.power,
    "mod": np.mod,
    "rsqrt": lambda x, _: _ONE / np.sqrt(x),
    "abs_max": lambda x, y: np.maximum(np.abs(x), np.abs(y)),
    "abs_min": lambda x, y: np.minimum(np.abs(x), np.abs(y)),
    "equal": _truth(np.equal),
    "not_equal": _truth(np.not_equal),
    "greater": _truth(np.greater),
    "greater_equal": _truth(np.greater_equal),
    "less": _truth(np.less),
    "less_equal": _truth(np.less_equal),
    "logical_and": _truth(np.logical_and),
    "logical_or": _truth(np.logical_or),
    "logical_xor": _truth(np.logical_xor),
}

BITS: Final[dict[str, Binary]] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
    "logical_shift_left": np.left_shift,
    "logical_shift_right": lambda x, y: _unsigned(np.right_shift, x, y),
    "arithmetic_shift_left": np.left_shift,
    "arithmetic_shift_right": np.right_shift,
}

EXACT_INTEGERS: Final[dict[str, Binary]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
}

REDUCTIONS: Final[dict[str, Callable[..., Array]]] = {
    "add": np.sum,
    "maximum": np.max,
    "minimum": np.min,
    "multiply": np.prod,
    "logical_and": np.all,
    "logical_or": np.any,
    "bitwise_and": np.bitwise_and.reduce,
    "bitwise_or": np.bitwise_or.reduce,
    "bitwise_xor": np.bitwise_xor.reduce,
}

COMPARISONS: Final = frozenset(
    ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "logical_and",
     "logical_or", "logical_xor", "logical_not")
)  # fmt: skip

_SAME: Final = {
    "max": "maximum",
    "amax": "maximum",
    "min": "minimum",
    "amin": "minimum",
    "sum": "add",
    "prod": "multiply",
    "true_divide": "divide",
    "absolute": "abs",
    "fabs": "abs",
    "pow": "power",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "remainder": "mod",
    "all": "logical_and",
    "any": "logical_or",
    "mul": "multiply",
    "sub": "subtract",
}


def _unsigned(function: Binary, x: Array, y: Array) -> Array:
    wide = np.dtype(f"u{x.dtype.itemsize}")
    return function(x.view(wide), np.asarray(y).astype(wide)).view(x.dtype)


def name_of(token: Any) -> str:
    """The name of a function that a kernel passes: ``nl.max`` and ``np.add`` have one."""
    name = getattr(token, "__name__", None) or str(token)
    return _SAME.get(name, name)


def fold(name: str, data: Array, axes: tuple[int, ...]) -> Array:
    """A reduction over axes that are kept with one element; sums in float32."""
    if name == "abs_max":
        return np.asarray(np.max(np.abs(data), axis=axes, keepdims=True))
    function = REDUCTIONS[name]
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        folded = data
        for axis in axes:
            folded = np.asarray(function(folded, axis=axis, keepdims=True))
        return folded
    result = np.asarray(function(data, axis=axes, keepdims=True))
    return result.astype(np.float32) if result.dtype == bool else result
