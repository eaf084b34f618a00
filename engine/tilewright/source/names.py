"""Which dotted name an expression stands for, through imports, aliases and assignments."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Names:
    """Local name to dotted origin: ``{"tl": "triton.language", "jit": "triton.jit"}``."""

    origins: Mapping[str, str] = field(default_factory=dict)

    def resolve(self, node: ast.expr) -> str | None:
        """The dotted name of ``node`` (``tl.dot`` -> ``triton.language.dot``) or None."""
        if isinstance(node, ast.Name):
            return self.origins.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            return None if base is None else f"{base}.{node.attr}"
        return None

    def is_call(self, node: ast.AST, *dotted: str) -> bool:
        """Whether ``node`` calls one of the dotted names."""
        return isinstance(node, ast.Call) and self.resolve(node.func) in dotted
