"""What the names in a kernel are to the compiler: constexprs, pointers, tiles, masks."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.tiles import Kind, TileFacts, tiles_of
from tilewright.source.model import Kernel, Language, Module
from tilewright.source.text import Range


class Meaning(StrEnum):
    """What a name is to the compiler. Numbers at run time have no meaning of their own."""

    CONSTEXPR = "constexpr"
    POINTER = "pointer"
    TILE = "tile"
    MASK = "mask"


@dataclass(frozen=True, order=True)
class Token:
    """A name in a kernel; ``is_parameter`` also where a parameter is read."""

    range: Range
    meaning: Meaning
    is_parameter: bool


_MEANINGS = {
    Kind.CONSTEXPR: Meaning.CONSTEXPR,
    Kind.POINTER: Meaning.POINTER,
    Kind.BLOCK_POINTER: Meaning.POINTER,
    Kind.DESCRIPTOR: Meaning.POINTER,
    Kind.TILE: Meaning.TILE,
    Kind.MASK: Meaning.MASK,
}


def tokens(module: Module, context: AnalysisContext, first: int, last: int) -> Iterator[Token]:
    """The names with a meaning in the Triton kernels on 1-based lines ``first`` to ``last``."""
    for kernel in module.kernels:
        inside = kernel.range.line <= last and kernel.range.end_line >= first
        if kernel.language is Language.TRITON and inside:
            found = _tokens_of(module, kernel, context)
            yield from (token for token in found if first <= token.range.line <= last)


def _tokens_of(module: Module, kernel: Kernel, context: AnalysisContext) -> list[Token]:
    tiles = tiles_of(module, kernel, context)
    parameters = {parameter.name for parameter in kernel.parameters}
    known: dict[str, Meaning] = dict.fromkeys(kernel.constexprs, Meaning.CONSTEXPR)
    found: list[Token] = []
    for statement, node in _names(kernel.node):
        if isinstance(node.ctx, ast.Store):
            meaning = _meaning(tiles.assigned(statement, node.id))
        else:
            meaning = _meaning(tiles.facts_at(node))
            if meaning is not None:
                known.setdefault(node.id, meaning)
        place = module.index.range_of(node)
        # Inside f-strings some versions of Python give other places.
        if meaning is not None and module.index.slice(place) == node.id:
            found.append(Token(place, meaning, node.id in parameters))
    arguments = kernel.node.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        meaning = known.get(argument.arg)
        if meaning is not None:
            start = module.index.range_of(argument)
            end = start.column + len(argument.arg)
            found.append(Token(Range(start.line, start.column, start.line, end), meaning, True))
    return sorted(set(found))


def _meaning(facts: TileFacts) -> Meaning | None:
    return _MEANINGS.get(facts.kind)


def _names(function: ast.FunctionDef) -> Iterator[tuple[ast.stmt, ast.Name]]:
    """Each name in a body with the innermost statement that it stands in."""
    pending: list[tuple[ast.stmt, ast.AST]] = [(s, s) for s in reversed(function.body)]
    while pending:
        statement, node = pending.pop()
        if isinstance(node, ast.Name):
            yield statement, node
        for child in ast.iter_child_nodes(node):
            pending.append((child if isinstance(child, ast.stmt) else statement, child))
