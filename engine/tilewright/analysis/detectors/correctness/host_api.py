"""Functions and methods of torch, NumPy and Python's math in kernels: Triton has none of them."""

import ast
from collections.abc import Callable, Iterator

from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.tiles import Kind, Tiles
from tilewright.analysis.values import Flow, Value
from tilewright.source.model import Kernel, Module

_PACKAGES = ("torch", "numpy")
_TAKEN = frozenset(("finfo", "iinfo", "device", "dtype", "Size"))
"""Classes, which the compiler calls as they are."""
_OF_NUMBERS = ("int", "float")
_METHODS = frozenset(
    (
        *("add", "bmm", "clamp", "clone", "contiguous", "cpu", "cuda", "data_ptr", "detach", "dim"),
        *("div", "double", "expand", "fill_", "flatten", "float", "half", "index_select", "int"),
        *("is_contiguous", "long", "masked_fill", "matmul", "mean", "mm", "mul", "nelement"),
        *("new_empty", "new_zeros", "numel", "numpy", "pow", "relu", "repeat", "round", "size"),
        *("std", "stride", "sub", "t", "tolist", "transpose", "unsqueeze", "var", "zero_"),
    )
)
"""Methods of torch.Tensor that Triton's tensors have in none of its versions 3.0 to 3.9."""


def host_uses(
    module: Module, kernel: Kernel, flow: Flow, tiles: Tiles, is_tensor: Callable[[Value], bool]
) -> Iterator[tuple[ast.expr, str]]:
    """Calls of the host's functions, and of methods that torch's tensors alone have.

    Args:
        is_tensor: whether a value is one of Triton's tensors, known at run time only.
    """
    for call in nodes_like(kernel.node, ast.Call):
        function = call.func
        name = module.names.resolve(function) or ""
        if _is_of_package(name):
            yield call, f"function of {name.partition('.')[0]} ({ast.unparse(function)})"
        elif name.startswith("math.") and isinstance(function, ast.Name):
            yield call, f"{function.id} without its module (write {name})"
        elif name.startswith("math.") or name in _OF_NUMBERS:
            given = filter(None, map(flow.values.get, call.args))
            if any(is_tensor(value) or _is_argument(module, kernel, value) for value in given):
                yield call, f"{ast.unparse(function)} of what is known at run time only"
        elif isinstance(function, ast.Attribute) and function.attr in _METHODS:
            owner = flow.values.get(function.value)
            if owner is not None and (is_tensor(owner) or _is_pointer(flow, tiles, owner)):
                yield call, f".{function.attr}() of torch's tensors"


def _is_of_package(name: str) -> bool:
    """``torch.exp`` and ``numpy.sqrt``; not what torch has for kernels in its own modules."""
    package, _, rest = name.partition(".")
    parts = rest.split(".")
    is_private = any(part.startswith("_") for part in parts)
    return package in _PACKAGES and bool(rest) and not is_private and parts[-1] not in _TAKEN


def _is_argument(module: Module, kernel: Kernel, value: Value) -> bool:
    """Whether it is a parameter that is no constexpr, and every launch computes what it gives."""
    launches = module.launches_of(kernel.name)
    given = [launch.arguments.get(str(value.detail)) for launch in launches]
    is_run_time = value.op == "param" and value.detail not in kernel.constexprs
    return is_run_time and bool(given) and not any(isinstance(a, ast.Constant) for a in given)


def _is_pointer(flow: Flow, tiles: Tiles, value: Value) -> bool:
    """Whether it is a parameter that the kernel adds offsets to."""
    bases = {access.base for access in flow.accesses}
    is_base = value.op == "param" and value.detail in bases
    return is_base and tiles.facts_of(value).kind is Kind.POINTER
