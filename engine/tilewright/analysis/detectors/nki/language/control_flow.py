"""Python that needs a value while the kernel is traced, given one that is a symbol or a tile."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import source_of
from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    nki_detector,
    older,
)
from tilewright.analysis.nki import Fact, Flow, Kind
from tilewright.source.model import Module

_CREATION = frozenset(f"nki.language.{name}" for name in ("ndarray", "zeros", "ones", "full"))
_WORDS = {ast.And: "'and'", ast.Or: "'or'"}


@nki_detector("nki_branch_on_index", older)
def branch_on_index(module: Module, flow: Flow) -> Reports:
    for branch in flow.branches:
        if flow.fact(branch.node.test).kind in (Kind.MASK, Kind.INDEX):
            text = (
                f"{source_of(module, branch.node.test)} has one answer for each element of a "
                f"tile, and a branch is taken once, while the kernel is traced."
            )
            yield branch.node.test, text


@nki_detector("nki_branch_on_tile", older)
def branch_on_tile(module: Module, flow: Flow) -> Reports:
    for branch in flow.branches:
        if _is_value(flow.fact(branch.node.test)):
            text = (
                f"{source_of(module, branch.node.test)} is a tile, whose values exist when "
                f"the kernel runs, and a branch is taken before, while it is traced."
            )
            yield branch.node.test, text


@nki_detector("nki_tile_truth_value", older)
def tile_truth_value(module: Module, flow: Flow) -> Reports:
    for node in flow.logic:
        word = _condition_word(flow, node)
        if word is not None:
            text = (
                f"{word} asks a whole tile for one truth value, which it does not have: "
                f"nl.logical_and, nl.logical_or and nl.logical_not work element by element."
            )
            yield node, text


def _condition_word(flow: Flow, node: ast.expr) -> str | None:
    match node:
        case ast.BoolOp() if any(_is_value(flow.fact(v)) for v in node.values):
            return _WORDS[type(node.op)]
        case ast.UnaryOp() if _is_value(flow.fact(node.operand)):
            return "'not'"
        case ast.Compare():
            operands = (node.left, *node.comparators)
            if any(_is_value(flow.fact(operand)) for operand in operands):
                return "A chain of comparisons"
    return None


def _is_value(fact: Fact) -> bool:
    """A tile that an instruction made, or a part of one."""
    return fact.is_tile and fact.storage.node is not None


@nki_detector("nki_loop_index_as_integer", older)
def loop_index_as_integer(module: Module, flow: Flow) -> Reports:
    for node, place in _integer_places(flow):
        fact = flow.fact(node)
        if fact.kind is not Kind.LOOP:
            continue
        loop = next(iter(fact.loops))
        text = (
            f"{source_of(module, node)} depends on the index of a {_name(loop.kind)} loop, "
            f"which is a symbol: {place} needs an integer while the kernel is traced."
        )
        yield node, text


def _name(kind: object) -> str:
    return f"nl.{kind}"


def _integer_places(flow: Flow) -> Iterator[tuple[ast.expr, str]]:
    for node, _ in flow.subscripts:
        if flow.fact(node.value).kind is Kind.LIST:
            yield node.slice, "the subscript of a Python list"
    for call in flow.calls:
        if call.dotted in _CREATION and call.node.args:
            shape = call.node.args[0]
            if isinstance(shape, ast.Tuple | ast.List):
                yield from ((side, "the shape of a tensor") for side in shape.elts)
        elif call.dotted in ("range", "nki.language.static_range"):
            yield from ((argument, "a range that is unrolled") for argument in call.node.args)
        elif call.dotted == "int":
            yield from ((argument, "int()") for argument in call.node.args)
