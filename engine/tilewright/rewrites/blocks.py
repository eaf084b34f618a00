"""Whether a kernel writes whole blocks rather than through tiles of pointers."""

import ast

from tilewright.rewrites.scope import is_tl_call
from tilewright.source.model import Kernel, Module

_BLOCK_MAKERS = ("make_block_ptr", "make_tensor_descriptor")


def stores_whole_blocks(module: Module, kernel: Kernel) -> bool:
    """Whether each of the kernel's stores is by a block pointer or tensor descriptor made in it."""
    blocks = {
        target.id
        for node in ast.walk(kernel.node)
        if isinstance(node, ast.Assign) and is_tl_call(module, node.value, *_BLOCK_MAKERS)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    stores = [_stored_to(module, node) for node in ast.walk(kernel.node)]
    found = [name for name in stores if name is not None]
    return bool(found) and blocks.issuperset(found)


def _stored_to(module: Module, node: ast.AST) -> str | None:
    """The name that a call stores to; empty where it is no name, None where it stores nothing."""
    if not isinstance(node, ast.Call):
        return None
    if is_tl_call(module, node, "store") and node.args:
        return node.args[0].id if isinstance(node.args[0], ast.Name) else ""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "store":
        return node.func.value.id if isinstance(node.func.value, ast.Name) else ""
    return None
