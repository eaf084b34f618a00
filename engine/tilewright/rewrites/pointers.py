"""Which pointer parameter a loaded value, or an address, comes from."""

import ast
from collections.abc import Mapping

from tilewright.analysis.flow import flow_of
from tilewright.analysis.tiles import Dim, Kind, TileFacts, tiles_of
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

_BLOCK_MAKERS = ("make_block_ptr", "make_tensor_descriptor")
Dimension = str | int | None
Shape = tuple[Dimension, ...]


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


class Shapes:
    """The shapes of one kernel's names and expressions."""

    def __init__(self, module: Module, kernel: Kernel) -> None:
        self._tiles = tiles_of(module, kernel)
        self._names: dict[str, Shape] = {p.name: () for p in kernel.parameters}
        for name, definitions in flow_of(module, kernel).definitions.items():
            for definition in definitions:
                shape = _named(self._tiles.facts_of(definition.value))
                if shape is not None:
                    self._names.setdefault(name, shape)

    @property
    def names(self) -> Mapping[str, Shape]:
        """Shapes of the names that have one; scalars have the empty shape."""
        return self._names

    def shape_of(self, node: ast.expr | None) -> Shape | None:
        """The shape of an expression, None where it is not known."""
        return None if node is None else _named(self._tiles.facts_at(node))


def _named(facts: TileFacts) -> Shape | None:
    if facts.shape is None or facts.kind in (Kind.BLOCK_POINTER, Kind.DESCRIPTOR):
        return None
    return tuple(_dimension(extent) for extent in facts.shape)


def _dimension(extent: Dim) -> Dimension:
    if isinstance(extent, int):
        return extent
    return str(extent.detail) if extent.op == "param" else None
