"""What a candidate brings in."""

import ast
from collections.abc import Iterator

from tilewright.evaluation.rules.allowlists import MODULES
from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.view import View, line_of


def imports(view: View) -> Iterator[Finding]:
    """Modules that launching does not need, and imports that hide which names they bring."""
    for node in (*view.host, *view.kernels):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module(alias.name, node)
        elif isinstance(node, ast.ImportFrom):
            if any(alias.name == "*" for alias in node.names):
                name = "." * node.level + (node.module or "")
                yield Finding(f"from {name} import *", line_of(node), "import names one by one")
            if node.level:
                yield Finding(f"module {'.' * node.level}{node.module or ''}", line_of(node))
            else:
                yield from _module(node.module or "", node)


def _module(name: str, node: ast.AST) -> Iterator[Finding]:
    root = name.partition(".")[0]
    if root not in MODULES:
        yield Finding(f"module {root}", line_of(node))
