"""Every node of a function, walked once for all who ask."""

import ast
from collections import defaultdict
from collections.abc import Mapping
from typing import TypeVar, cast

from tilewright.python_syntax import descendants
from tilewright.source.node_memo import per_node

N = TypeVar("N", bound=ast.AST)


def nodes_of(node: ast.FunctionDef) -> tuple[ast.AST, ...]:
    """Every node of a function, each before those within it, outer ones first.

    Operators and contexts are left out: they are half of all nodes and carry no information.
    """
    return (node, *_inner_nodes(node))


def nodes_like(node: ast.FunctionDef, kind: type[N]) -> tuple[N, ...]:
    """The nodes of a function of one type, in the order of ``nodes_of``."""
    found = cast("tuple[N, ...]", _by_type(node).get(kind, ()))
    return (node, *found) if isinstance(node, kind) else found


@per_node
def _inner_nodes(node: ast.FunctionDef) -> tuple[ast.AST, ...]:
    """Without the function itself: kept with it, that would be a reference cycle."""
    return tuple(descendants(node)[1:])


@per_node
def _by_type(node: ast.FunctionDef) -> Mapping[type[ast.AST], tuple[ast.AST, ...]]:
    found: defaultdict[type[ast.AST], list[ast.AST]] = defaultdict(list)
    for each in _inner_nodes(node):
        found[each.__class__].append(each)
    return {kind: tuple(nodes) for kind, nodes in found.items()}
