"""Which pointer parameter a loaded value, or an address, comes from."""

import ast

from tilewright.rewrites.scope import (
    argument,
    is_tl_call,
    names_in,
    only_value,
    parameters,
    statements,
    targets_of,
)
from tilewright.source.model import Kernel, Module


def pointer_of(module: Module, kernel: Kernel, value: ast.expr) -> str | None:
    """The pointer parameter that a loaded value comes from, where the way there is plain."""
    load = loaded_value(module, kernel, value)
    pointer = argument(load, 0, "pointer") if load is not None else None
    return base_pointer(kernel, pointer) if pointer is not None else None


def loaded_value(module: Module, kernel: Kernel, value: ast.expr) -> ast.Call | None:
    """The ``tl.load`` a value is, through names, transposes and casts."""
    node: ast.expr | None = value
    for _ in range(8):
        if isinstance(node, ast.Call) and is_tl_call(module, node, "load"):
            return node
        if isinstance(node, ast.Name):
            node = only_value(kernel.node, node.id)
        elif isinstance(node, ast.Attribute) and node.attr == "T":
            node = node.value
        elif isinstance(node, ast.Call) and is_tl_call(module, node, "trans") and node.args:
            node = node.args[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value if node.func.attr == "to" else None
        else:
            return None
    return None


def base_pointer(kernel: Kernel, pointer: ast.expr) -> str | None:
    """The leftmost name of a pointer sum, followed to a parameter: ``a_ptr`` of ``a_ptr + i``."""
    names = {p.name for p in kernel.parameters if not p.is_constexpr}
    node: ast.expr | None = pointer
    for _ in range(16):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            node = node.left
        elif isinstance(node, ast.Name):
            value = _first_value(kernel, node.id)
            if value is None:
                return node.id if node.id in names else None
            node = value
        elif isinstance(node, ast.Call) and node.args and not isinstance(node.func, ast.Name):
            node = node.args[0]
        elif isinstance(node, ast.Call):
            node = next((k.value for k in node.keywords if k.arg == "base"), None)
        else:
            return None
    return None


def _first_value(kernel: Kernel, name: str) -> ast.expr | None:
    """What a name was first set to, when all else only moves it on (``p += step``)."""
    if name in parameters(kernel.node):
        moved = [s for s in statements(kernel.node) if name in targets_of(s)]
        return None if all(isinstance(s, ast.AugAssign) for s in moved) else ast.Constant(None)
    plain = [
        s
        for s in statements(kernel.node)
        if name in targets_of(s) and not isinstance(s, ast.AugAssign)
    ]
    values = [s.value for s in plain if isinstance(s, ast.Assign)]
    outer = [v for v in values if name not in names_in(v)]
    return outer[0] if len(outer) == 1 else ast.Constant(None)
