"""The names and strings of a file by their text, found in one walk and kept with the module."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilewright.navigation.scopes import Scope
from tilewright.source.model import Module


@dataclass(frozen=True)
class Mentions:
    """Where names and strings stand in a file.

    Attributes:
        names: names, and attributes by their last part.
        strings: constants with what they are a part of.
        called: ids of the nodes that are called; ``called_in_kernels`` of those in kernels.
        scope: what gives the names of the module their values.
    """

    scope: Scope
    names: dict[str, list[ast.Name | ast.Attribute]] = field(default_factory=dict)
    strings: dict[str, list[tuple[ast.Constant, ast.AST | None]]] = field(default_factory=dict)
    called: set[int] = field(default_factory=set)
    called_in_kernels: set[int] = field(default_factory=set)


def mentions_in(module: Module) -> Mentions:
    """The mentions of a file; made once."""
    found = module.memo.get(Mentions)
    if isinstance(found, Mentions):
        return found
    made = Mentions(Scope(module.tree.body))
    for node, parent in with_parents(module.tree):
        if isinstance(node, ast.Name):
            made.names.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.Attribute):
            made.names.setdefault(node.attr, []).append(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            made.strings.setdefault(node.value, []).append((node, parent))
        elif isinstance(node, ast.Call):
            made.called.add(id(node.func))
    for kernel in module.kernels:
        calls = (node for node in ast.walk(kernel.node) if isinstance(node, ast.Call))
        made.called_in_kernels.update(id(node.func) for node in calls)
    module.memo[Mentions] = made
    return made


def with_parents(root: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    """Every node below one, itself first, with the node that it is a part of."""
    pending: list[tuple[ast.AST, ast.AST | None]] = [(root, None)]
    while pending:
        node, parent = pending.pop()
        yield node, parent
        pending += [(child, node) for child in ast.iter_child_nodes(node)]
