"""Where the names of a file come from: its imports, and plain renamings of what they bring."""

import ast
from collections.abc import Iterator, Sequence
from itertools import chain

from tilewright.source.environment import Touch
from tilewright.source.facts import Facts
from tilewright.source.names import Names, public

_CUSTOMARY = {
    "tl": "triton.language",
    "nl": "nki.language",
    "nisa": "nki.isa",
    "ncc": "nki.compiler",
}
"""Meant where nothing in the file binds the name, as in a snippet or below a broken import."""


def names_of(facts: Sequence[Facts]) -> Names:
    """Origins of the names bound by imports anywhere, and by module-level ``a = b.c``.

    Of imports under ``if`` or ``try`` the first counts, as the one that is meant to work; one
    within a function counts where no other binds the name.
    """
    found = [pair for part in facts for pair in part.imports]
    plain = [node for rank, node in found if rank == 0]
    others = [node for rank, node in sorted(found, key=lambda pair: pair[0]) if rank > 0]
    origins: dict[str, str] = {}
    imports: set[str] = set()
    for bound, origin, module in chain.from_iterable(map(_imported, (*others[::-1], *plain))):
        origins[bound] = origin
        imports.add(module)
    bound_here = {touch.name for part in facts for touch in part.touches}
    for part in facts:
        for touch in part.touches:
            _add_renaming(touch, origins)
    for name, origin in _CUSTOMARY.items():
        if name not in bound_here:
            origins.setdefault(name, origin)
    return Names(origins, frozenset(imports))


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str, str]]:
    """For each name an import binds: the name, its public origin, the module or name asked for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            yield bound, public(alias.name if alias.asname else bound), alias.name
    else:
        base = "." * node.level + (node.module or "")
        for alias in node.names:
            whole = _join(base, alias.name)
            yield alias.asname or alias.name, public(whole), whole


def _join(base: str, name: str) -> str:
    return base + name if base.endswith(".") else f"{base}.{name}"


def _add_renaming(touch: Touch, origins: dict[str, str]) -> None:
    value = touch.value
    if not isinstance(value, ast.Name | ast.Attribute):
        return
    dotted = Names(origins).resolve(value)
    if dotted is not None and _root(value) in origins:
        origins[touch.name] = dotted


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
