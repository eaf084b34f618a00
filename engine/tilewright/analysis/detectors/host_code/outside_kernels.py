"""Detector of functions of ``triton.language`` that host code calls."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.host_graph.build import launching_functions
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nodes import nodes_like
from tilewright.python_syntax import descendants
from tilewright.source.model import Module

ONLY_IN_KERNELS = frozenset(
    (
        *("abs", "arange", "argmax", "argmin", "atomic_add", "broadcast_to", "cat", "cdiv", "ceil"),
        *("clamp", "cos", "cumsum", "debug_barrier", "dot", "exp", "exp2", "expand_dims", "flip"),
        *("floor", "full", "join", "load", "log", "log2", "make_block_ptr", "max", "maximum"),
        *("min", "minimum", "multiple_of", "num_programs", "permute", "program_id", "rand"),
        *("randint", "randn", "reshape", "rsqrt", "sigmoid", "sin", "softmax", "sort", "split"),
        *("sqrt", "store", "sum", "trans", "where", "zeros", "zeros_like"),
    )
)
"""Functions that raise an error where no kernel is being compiled."""
_ON_HOST = {"cdiv": "triton.cdiv"}


@detector("call_outside_kernel", host=True)
def call_outside_kernel(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``tl.cdiv(n, 128)`` in a grid, where ``triton.cdiv`` is meant."""
    for name in launching_functions(module):
        host = module.host_functions[name]
        decorated = _decorated(host)
        for call in nodes_like(host, ast.Call):
            dotted = module.names.resolve(call.func) or ""
            function = dotted.removeprefix(TL)
            if function == dotted or function not in ONLY_IN_KERNELS or id(call) in decorated:
                continue
            use = f": use {_ON_HOST[function]}" if function in _ON_HOST else ""
            yield Finding(
                module.index.range_of(call),
                f"{ast.unparse(call.func)} runs in kernels alone: called from {name}, which is "
                f"host code, it raises an error{use}.",
            )


def _decorated(host: ast.FunctionDef) -> frozenset[int]:
    """The nodes of functions within a function that have decorators: they may be kernels."""
    inner = (n for n in nodes_like(host, ast.FunctionDef) if n is not host and n.decorator_list)
    return frozenset(id(node) for function in inner for node in descendants(function))
