"""Where the names of a file come from: its imports, and plain renamings of what they bring."""

import ast

from tilewright.source.names import Names, public

_CUSTOMARY = {
    "tl": "triton.language",
    "nl": "nki.language",
    "nisa": "nki.isa",
    "ncc": "nki.compiler",
}
"""Meant where nothing in the file binds the name, as in a snippet or below a broken import."""


def names_of(tree: ast.Module) -> Names:
    """Origins of the names bound by imports anywhere, and by module-level ``a = b.c``."""
    origins: dict[str, str] = {}
    imports: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                origins[bound] = public(alias.name if alias.asname else bound)
                imports.add(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for alias in node.names:
                origins[alias.asname or alias.name] = public(_join(base, alias.name))
                imports.add(_join(base, alias.name))
    for statement in tree.body:
        _add_renaming(statement, origins)
    for name, origin in _CUSTOMARY.items():
        origins.setdefault(name, origin)
    return Names(origins, frozenset(imports))


def _join(base: str, name: str) -> str:
    return base + name if base.endswith(".") else f"{base}.{name}"


def _add_renaming(statement: ast.stmt, origins: dict[str, str]) -> None:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Name | ast.Attribute):
        return
    dotted = Names(origins).resolve(value)
    if dotted is not None and _root(value) in origins:
        origins[target.id] = dotted


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
