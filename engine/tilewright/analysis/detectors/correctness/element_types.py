"""What host code says of the element types of the tensors that it passes."""

import ast

from tilewright.analysis.nodes import nodes_like
from tilewright.source.host import host_of, resolve
from tilewright.source.model import Kernel, Launch, Module

_INT32 = "torch.int32"


def holds_int32(module: Module, kernel: Kernel, parameter: str) -> bool:
    """Whether a launch passes a tensor whose elements the host code makes, or asserts, int32."""
    for launch in module.launches_of(kernel.name):
        given = launch.arguments.get(parameter)
        if given is not None and _is_int32(module, launch, given):
            return True
    return False


def _is_int32(module: Module, launch: Launch, given: ast.expr) -> bool:
    value = resolve(module, launch, given)
    if isinstance(value, ast.Call):
        is_method = isinstance(value.func, ast.Attribute) and value.func.attr == "int"
        parts = [*value.args, *(k.value for k in value.keywords if k.arg == "dtype")]
        return is_method or any(module.names.resolve(part) == _INT32 for part in parts)
    host = host_of(module, launch)
    if host is None or not isinstance(value, ast.Name):
        return False
    return any(_asserts_int32(module, node, value.id) for node in nodes_like(host, ast.Assert))


def _asserts_int32(module: Module, node: ast.Assert, name: str) -> bool:
    match node.test:
        case ast.Compare(
            left=ast.Attribute(value=ast.Name(id=asked), attr="dtype"),
            ops=[ast.Eq()],
            comparators=[right],
        ):
            return asked == name and module.names.resolve(right) == _INT32
    return False
