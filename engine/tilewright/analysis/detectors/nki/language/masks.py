"""Masks that are no conjunction of affine comparisons."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import found, source_of
from tilewright.analysis.detectors.nki.language.kernels import (
    given,
    is_indirect,
    older,
    written_out,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nki.scopes import Kind, Scopes
from tilewright.source.model import Module

_POSITION = (Kind.INDEX, Kind.LOOP, Kind.MASK)
_WORDS = {ast.And: "'and'", ast.Or: "'or'", ast.Not: "'not'"}


@detector("nki_mask_boolean_operator")
def mask_boolean_operator(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, scopes in older(module):
        for node in scopes.logic:
            if _positions(scopes, node):
                text = (
                    f"{_word(node)} asks for one truth value of a mask, which has one for each "
                    f"element: join comparisons with &, each in parentheses."
                )
                yield found(module, kernel, node, text)
        for mask in _masks(scopes):
            for node in _bit_or(scopes, mask):
                text = (
                    f"{source_of(module, node)} joins comparisons with |, but a mask is a "
                    f"rectangle of a tile: comparisons joined with & alone."
                )
                yield found(module, kernel, node, text)


def _word(node: ast.expr) -> str:
    match node:
        case ast.BoolOp():
            return _WORDS[type(node.op)]
        case ast.UnaryOp():
            return _WORDS[type(node.op)]
    return "A chain of comparisons"


def _positions(scopes: Scopes, node: ast.expr) -> bool:
    match node:
        case ast.BoolOp():
            kinds = {scopes.fact(part).kind for part in node.values}
        case ast.UnaryOp():
            kinds = {scopes.fact(node.operand).kind}
        case ast.Compare():
            kinds = {scopes.fact(part).kind for part in (node.left, *node.comparators)}
        case _:
            return False
    return bool(kinds & {Kind.MASK, Kind.INDEX})


def _masks(scopes: Scopes) -> Iterator[ast.expr]:
    """The masks that NKI calls are given, through names."""
    seen: set[int] = set()
    for call in scopes.calls:
        mask = call.argument("mask")
        if mask is None or not (call.dotted or "").startswith("nki."):
            continue
        mask = given(scopes, mask)
        if id(mask) not in seen:
            seen.add(id(mask))
            yield mask


def _bit_or(scopes: Scopes, mask: ast.expr) -> Iterator[ast.BinOp]:
    for node in ast.walk(mask):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.BitOr):
            continue
        if scopes.fact(node).kind is Kind.MASK:
            yield node


@detector("nki_mask_not_affine")
def mask_not_affine(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, scopes in older(module):
        for mask in _masks(scopes):
            reason = next(
                filter(None, (_reason(scopes, n) for n in written_out(scopes, mask))), None
            )
            if reason is not None:
                text = (
                    f"This mask holds {reason}: a mask is compiled into the shape of the "
                    f"instruction, from comparisons that are linear in indices."
                )
                yield found(module, kernel, mask, text)


def _reason(scopes: Scopes, node: ast.AST) -> str | None:
    if isinstance(node, ast.BinOp):
        sides = [scopes.fact(node.left).kind, scopes.fact(node.right).kind]
        if isinstance(node.op, ast.Mod | ast.FloorDiv) and sides[0] in _POSITION:
            return "a remainder or quotient of an index"
        if isinstance(node.op, ast.Mult) and all(kind in _POSITION for kind in sides):
            return "a product of two indices"
    if isinstance(node, ast.Compare):
        operands = (node.left, *node.comparators)
        if any(is_indirect(scopes, operand) for operand in operands):
            return "a comparison with values of a tile"
    return None
