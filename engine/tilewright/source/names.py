"""Which dotted name an expression stands for, through imports, aliases and assignments."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

_MOVED = {
    "triton.language.core": "triton.language",
    "triton.language.standard": "triton.language",
    "triton.autotuner": "triton",
    "triton.jit.jit": "triton.jit",
    "triton.runtime": "triton",
    "neuronxcc.nki": "nki",
    "nki.isa.constants": "nki.isa",
    "nki.language.constants": "nki.language",
    "nki.language.iterators": "nki.language",
    "torch_neuronx.nki_jit": "nki.jit",
    "torch_neuronx.xla_impl.ops.nki_jit": "nki.jit",
}
"""Names that are public under another, of which the public one is what to compare with.

A longer name is looked up piece by piece, so that each key begins with public names.
"""


def member(owner: str, name: str) -> str:
    """The public dotted name of ``owner.name``, where ``owner`` is public itself."""
    dotted = f"{owner}.{name}"
    return _MOVED.get(dotted, dotted)


def public(dotted: str) -> str:
    """The public spelling of a dotted name: ``neuronxcc.nki.isa`` is ``nki.isa``."""
    first, *rest = dotted.split(".")
    for name in rest:
        first = member(first, name)
    return first


@dataclass(frozen=True)
class Names:
    """Local name to dotted origin: ``{"tl": "triton.language", "jit": "triton.jit"}``.

    ``imports`` are the modules the file names in its imports, spelled as they are written there.
    """

    origins: Mapping[str, str] = field(default_factory=dict)
    imports: frozenset[str] = frozenset()

    def resolve(self, node: ast.expr) -> str | None:
        """The dotted name of ``node`` (``tl.dot`` -> ``triton.language.dot``) or None."""
        if isinstance(node, ast.Name):
            return self.origins.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            return None if base is None else member(base, node.attr)
        return None

    def is_call(self, node: ast.AST, *dotted: str) -> bool:
        """Whether ``node`` calls one of the dotted names."""
        return isinstance(node, ast.Call) and self.resolve(node.func) in dotted
