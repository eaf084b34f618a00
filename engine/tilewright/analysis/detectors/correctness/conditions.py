"""Detectors of masks and conditions that Python's grammar makes something else of."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import source_of, triton_kernels
from tilewright.analysis.detectors.correctness.language import is_for_a_fork
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.tiles import Kind, TileFacts, Tiles, tiles_of
from tilewright.source.model import Module

_BITWISE: dict[type[ast.operator], str] = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}


@detector("mask_precedence")
def mask_precedence(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``a < b & c < d``, which is ``a < (b & c) < d``."""
    for kernel, _ in triton_kernels(module):
        tiles = None
        for node in nodes_like(kernel.node, ast.Compare):
            parts = (node.left, *node.comparators)
            inner = [p for p in parts if isinstance(p, ast.BinOp) and _is_bare(module, p)]
            if not inner:
                continue
            tiles = tiles or tiles_of(module, kernel, context)
            for part in inner:
                if _is_wrong(node, part, tiles):
                    sign = _BITWISE[type(part.op)]
                    yield Finding(
                        module.index.range_of(node),
                        f"{sign} binds tighter than a comparison: this compares with "
                        f"{source_of(module, part)} and is not the mask it looks like.",
                        kernel.name,
                    )
                    break


def _is_bare(module: Module, node: ast.BinOp) -> bool:
    """Whether it is ``b & c`` without parentheses around it."""
    if type(node.op) not in _BITWISE:
        return False
    where = module.index.range_of(node)
    after = module.index.lines[where.end_line - 1][where.end_column :].lstrip()
    before = module.index.lines[where.line - 1][: where.column].rstrip()
    return not (before.endswith("(") and after.startswith(")"))


def _is_wrong(compare: ast.Compare, part: ast.BinOp, tiles: Tiles) -> bool:
    """In a chain, but for a number's bits; or of a mask with something that is none."""
    if len(compare.ops) > 1:
        return not any(isinstance(side, ast.Constant) for side in (part.left, part.right))
    left, right = tiles.facts_at(part.left).kind, tiles.facts_at(part.right).kind
    return (left is Kind.MASK) is not (right is Kind.MASK) and Kind.UNKNOWN not in (left, right)


@detector("boolean_operator_on_tiles")
def boolean_operator_on_tiles(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``and`` and ``or`` between tiles."""
    for kernel, _ in triton_kernels(module):
        tiles = None
        for node in nodes_like(kernel.node, ast.BoolOp):
            tiles = tiles or tiles_of(module, kernel, context)
            if any(_is_tile(tiles.facts_at(part)) for part in node.values):
                word, sign = ("and", "&") if isinstance(node.op, ast.And) else ("or", "|")
                yield Finding(
                    module.index.range_of(node),
                    f"`{word}` between tiles is deprecated since Triton 3.4, and Triton's "
                    f"interpreter takes one side alone for the result; use {sign}.",
                    kernel.name,
                )


@detector("tile_as_condition")
def tile_as_condition(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``if`` on a tile of many values."""
    if is_for_a_fork(module) or (context.triton_version or (3, 4)) < (3, 4):
        return
    for kernel, _ in triton_kernels(module):
        tiles = None
        for node in nodes_like(kernel.node, ast.If):
            tiles = tiles or tiles_of(module, kernel, context)
            if _is_tile(tiles.facts_at(node.test)):
                yield Finding(
                    module.index.range_of(node.test),
                    f"{source_of(module, node.test)} is a tile with a truth for each lane, which "
                    "no branch can follow: this does not compile.",
                    kernel.name,
                )


def _is_tile(facts: TileFacts) -> bool:
    """Whether it surely has more than one element."""
    return bool(facts.shape) and any(not isinstance(d, int) or d > 1 for d in facts.shape or ())
