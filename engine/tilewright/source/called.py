"""Which names a function calls."""

import ast

from tilewright.python_syntax import descendants
from tilewright.source.node_memo import per_text


@per_text
def called_names(node: ast.FunctionDef) -> frozenset[str]:
    """The names that a function calls, of ``a.b.c()`` the last. Nodes are never changed."""
    return frozenset(
        child.func.id if isinstance(child.func, ast.Name) else child.func.attr
        for child in descendants(node)
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name | ast.Attribute)
    )
