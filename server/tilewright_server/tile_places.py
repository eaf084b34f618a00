"""Which value of a kernel stands at a place of its text, and where values are assigned."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.analysis.tiles import TileFacts, tiles_of
from tilewright.source.model import Kernel, Language
from tilewright.source.text import LineIndex, Range
from tilewright_server.analysis_cache import Analysis
from tilewright_server.backend import ONE_AT_A_TIME
from tilewright_server.tile_cards import inlay_label, tile_card

if TYPE_CHECKING:
    from tilewright.problems.model import Problem


@dataclass(frozen=True)
class Hint:
    """A label for behind a name or a line: 1-based line, code-point column.

    ``is_figure`` for bytes and counts, which an edit makes stale.
    """

    line: int
    column: int
    label: str
    is_figure: bool = False


def card_at(
    analysis: Analysis, line: int, column: int, problem: "Problem | None" = None
) -> tuple[str, Range] | None:
    """What is known of the expression at a place, and the range of that expression."""
    kernel = analysis.module.kernel_at(line)
    if kernel is None:
        return None
    index = analysis.module.index
    found = _expression_at(kernel, index, line, column)
    if found is None:
        return None
    statement, node = found
    title = _title(index, node)
    with ONE_AT_A_TIME:
        if kernel.language is Language.NKI:
            # Here, as the cost model is read only where such kernels are.
            from tilewright_server.nki_places import nki_card

            card = nki_card(analysis.module, kernel, statement, node, title, problem)
        else:
            card = tile_card(title, _facts(analysis, kernel, statement, node))
    return None if card is None else (card, index.range_of(node))


def hints_in(analysis: Analysis, first: int, last: int) -> list[Hint]:
    """Labels for the assignments on lines ``first`` to ``last``."""
    found: list[Hint] = []
    for kernel in analysis.module.kernels:
        if kernel.range.line <= last and kernel.range.end_line >= first:
            hints = _hints_of if kernel.language is Language.TRITON else _nki_hints_of
            with ONE_AT_A_TIME:
                found += hints(analysis, kernel, first, last)
    return found


def _nki_hints_of(analysis: Analysis, kernel: Kernel, first: int, last: int) -> Iterator[Hint]:
    from tilewright_server.nki_places import assignment_labels, loop_labels

    index = analysis.module.index
    for target, label in assignment_labels(analysis.module, kernel):
        if first <= target.lineno <= last:
            end = index.range_of(target)
            yield Hint(end.end_line, end.end_column, label)
    for line, label in loop_labels(analysis.module, kernel):
        if first <= line <= last:
            yield Hint(line, len(index.lines[line - 1]), label)


def _hints_of(analysis: Analysis, kernel: Kernel, first: int, last: int) -> Iterator[Hint]:
    tiles = tiles_of(analysis.module, kernel, analysis.context)
    said: dict[str, str | None] = {}
    for statement, target in _assignments(kernel):
        label = inlay_label(tiles.assigned(statement, target.id))
        # What an assignment does not change needs no second label.
        if label is not None and said.get(target.id) != label and first <= target.lineno <= last:
            end = analysis.module.index.range_of(target)
            yield Hint(end.end_line, end.end_column, label)
        said[target.id] = label


def _assignments(kernel: Kernel) -> Iterator[tuple[ast.Assign, ast.Name]]:
    """Names that plain assignments give a value, in the order of the text."""
    statements = [n for n in ast.walk(kernel.node) if isinstance(n, ast.Assign)]
    for statement in sorted(statements, key=lambda n: (n.lineno, n.col_offset)):
        for target in statement.targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            yield from ((statement, part) for part in parts if isinstance(part, ast.Name))


def _facts(analysis: Analysis, kernel: Kernel, statement: ast.stmt, node: ast.expr) -> TileFacts:
    tiles = tiles_of(analysis.module, kernel, analysis.context)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return tiles.assigned(statement, node.id)
    return tiles.facts_at(node)


def _expression_at(
    kernel: Kernel, index: LineIndex, line: int, column: int
) -> tuple[ast.stmt, ast.expr] | None:
    """The innermost expression at a place and its statement; of a function, its call."""
    statement: ast.stmt | None = None
    path: list[ast.expr] = []
    pending: list[ast.AST] = list(kernel.node.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt | ast.expr):
            if not index.range_of(node).contains(line, column):
                continue
            if isinstance(node, ast.stmt):
                statement, path = node, []
            else:
                path.append(node)
            pending = []
        pending += reversed(list(ast.iter_child_nodes(node)))
    if statement is None or not path or isinstance(path[-1], ast.Constant):
        return None
    outer = path[-2] if len(path) > 1 else None
    if isinstance(outer, ast.Call) and outer.func is path[-1]:
        return statement, outer
    return statement, path[-1]


def _title(index: LineIndex, node: ast.expr) -> str:
    """The expression as it is written; of a long one, its beginning."""
    named = node.func if isinstance(node, ast.Call) else node
    text = " ".join(index.slice(index.range_of(named)).split())
    text = text if len(text) <= 40 else f"{text[:39]}…"
    return f"{text}(…)" if isinstance(node, ast.Call) else text
