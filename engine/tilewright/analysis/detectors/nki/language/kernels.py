"""What detectors of NKI's language rules ask: kernels with their scopes, where a value is used."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import nki_kernels
from tilewright.analysis.nki.flavour import flavour_of
from tilewright.analysis.nki.scope_walk import scopes_of
from tilewright.analysis.nki.scopes import Kind, Scopes
from tilewright.source.model import Kernel, Module, NkiFlavour

STORED = frozenset({Kind.TILE, Kind.TENSOR, Kind.VIEW, Kind.ARGUMENT})
DESCRIBING = frozenset({"shape", "dtype", "ndim", "size", "name"})
"""What a tensor is asked about itself, which reads none of its values."""
_DEPTH = 8


def scoped(module: Module) -> Iterator[tuple[Kernel, Scopes]]:
    """The NKI kernels of a file that says which package it is for, with their scopes."""
    if flavour_of(module) is not None:
        for kernel in nki_kernels(module):
            yield kernel, scopes_of(module, kernel)


def older(module: Module) -> Iterator[tuple[Kernel, Scopes]]:
    """Those of a file for ``neuronxcc.nki``, whose loops and tiles follow rules of their own."""
    if flavour_of(module) is NkiFlavour.NEURONXCC:
        yield from scoped(module)


def parts_of(node: ast.Subscript) -> list[ast.expr]:
    """The indices of a subscript, one for each dimension it names."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def given(scopes: Scopes, node: ast.expr, depth: int = _DEPTH) -> ast.expr:
    """The expression behind a name that was given one, followed through names."""
    while isinstance(node, ast.Name) and depth:
        binding = scopes.bound.get(node)
        if binding is None or binding.value is None:
            return node
        node, depth = binding.value, depth - 1
    return node


def written_out(scopes: Scopes, node: ast.expr, depth: int = _DEPTH) -> Iterator[ast.AST]:
    """The nodes of an expression, those of the expressions behind its names included."""
    for part in ast.walk(node):
        yield part
        if isinstance(part, ast.Name) and depth:
            behind = given(scopes, part, 1)
            if behind is not part:
                yield from written_out(scopes, behind, depth - 1)


def is_indirect(scopes: Scopes, node: ast.expr) -> bool:
    """Whether an index is read from a tile: it is known only when the kernel runs."""
    fact = scopes.fact(node)
    return fact.kind is Kind.TILE or (fact.kind is Kind.VIEW and fact.is_tile)


def is_number(node: ast.expr | None) -> bool:
    """Whether a node is a literal number."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return is_number(node.operand)
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    )
