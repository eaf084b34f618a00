"""Every node of a function, walked once for all who ask."""

import ast

from tilewright.source.node_memo import per_node


@per_node
def nodes_of(node: ast.FunctionDef) -> tuple[ast.AST, ...]:
    """Every node of a function, each before those within it, outer ones first."""
    found: list[ast.AST] = [node]
    for current in found:
        for name in current._fields:
            value = getattr(current, name, None)
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found.extend(part for part in value if isinstance(part, ast.AST))
    return tuple(found)
