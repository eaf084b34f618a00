"""Masks that are no conjunction of affine comparisons."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import source_of
from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    is_indirect,
    nki_detector,
    older,
    resolved_expression,
    written_out,
)
from tilewright.analysis.nki import Flow, Kind
from tilewright.source.model import Module

_POSITION = (Kind.INDEX, Kind.LOOP, Kind.MASK)
_WORDS = {ast.And: "'and'", ast.Or: "'or'", ast.Not: "'not'"}


@nki_detector("nki_mask_boolean_operator", older)
def mask_boolean_operator(module: Module, flow: Flow) -> Reports:
    for node in flow.logic:
        if _positions(flow, node):
            text = (
                f"{_word(node)} asks for one truth value of a mask, which has one for each "
                f"element: join comparisons with &, each in parentheses."
            )
            yield node, text
    for mask in _masks(flow):
        for node in _bit_or(flow, mask):
            text = (
                f"{source_of(module, node)} joins comparisons with |, but a mask is a "
                f"rectangle of a tile: comparisons joined with & alone."
            )
            yield node, text


def _word(node: ast.expr) -> str:
    match node:
        case ast.BoolOp():
            return _WORDS[type(node.op)]
        case ast.UnaryOp():
            return _WORDS[type(node.op)]
    return "A chain of comparisons"


def _positions(flow: Flow, node: ast.expr) -> bool:
    match node:
        case ast.BoolOp():
            kinds = {flow.fact(part).kind for part in node.values}
        case ast.UnaryOp():
            kinds = {flow.fact(node.operand).kind}
        case ast.Compare():
            kinds = {flow.fact(part).kind for part in (node.left, *node.comparators)}
        case _:
            return False
    return bool(kinds & {Kind.MASK, Kind.INDEX})


def _masks(flow: Flow) -> Iterator[ast.expr]:
    """The masks that NKI calls are given, through names."""
    seen: set[int] = set()
    for call in flow.calls:
        mask = call.argument("mask")
        if mask is None or not (call.dotted or "").startswith("nki."):
            continue
        mask = resolved_expression(flow, mask)
        if id(mask) not in seen:
            seen.add(id(mask))
            yield mask


def _bit_or(flow: Flow, mask: ast.expr) -> Iterator[ast.BinOp]:
    for node in ast.walk(mask):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.BitOr):
            continue
        if flow.fact(node).kind is Kind.MASK:
            yield node


@nki_detector("nki_mask_not_affine", older)
def mask_not_affine(module: Module, flow: Flow) -> Reports:
    for mask in _masks(flow):
        reason = next(filter(None, (_reason(flow, n) for n in written_out(flow, mask))), None)
        if reason is not None:
            text = (
                f"This mask holds {reason}: a mask is compiled into the shape of the "
                f"instruction, from comparisons that are linear in indices."
            )
            yield mask, text


def _reason(flow: Flow, node: ast.AST) -> str | None:
    if isinstance(node, ast.BinOp):
        sides = [flow.fact(node.left).kind, flow.fact(node.right).kind]
        if isinstance(node.op, ast.Mod | ast.FloorDiv) and sides[0] in _POSITION:
            return "a remainder or quotient of an index"
        if isinstance(node.op, ast.Mult) and all(kind in _POSITION for kind in sides):
            return "a product of two indices"
    if isinstance(node, ast.Compare):
        operands = (node.left, *node.comparators)
        if any(is_indirect(flow, operand) for operand in operands):
            return "a comparison with values of a tile"
    return None
