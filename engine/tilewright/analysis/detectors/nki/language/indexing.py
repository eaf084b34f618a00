"""Subscripts that NKI refuses: indices without a second dimension, mixed forms, loose extents."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import source_of
from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    is_indirect,
    nki_detector,
    older,
    parts_of,
)
from tilewright.analysis.nki import Flow, Kind
from tilewright.analysis.nki.affine import ZERO, Affine, Symbol, SymbolKind
from tilewright.analysis.nki.expressions import integer_arithmetic
from tilewright.analysis.nki.facts import STORED
from tilewright.source.model import Module

_DEPTH = 12
_DIRECT_ONLY = ("nki.language.load_transpose2d",)


def _subscripts(flow: Flow) -> Iterator[ast.Subscript]:
    """Subscripts of tensors, tiles and arguments."""
    for node, _ in flow.subscripts:
        if flow.fact(node.value).kind in STORED:
            yield node


@nki_detector("nki_bare_arange", older)
def bare_arange(module: Module, flow: Flow) -> Reports:
    for node in _subscripts(flow):
        for place, part in enumerate(parts_of(node)):
            fact = flow.fact(part)
            if fact.kind is Kind.INDEX and fact.bare:
                axes = "[:, None]" if place == 0 else "[None, :]"
                text = (
                    f"{source_of(module, part)} is a one-dimensional arange, and a tile is "
                    f"indexed with at least two dimensions: say which one it runs along, with "
                    f"{axes} or the other way round."
                )
                yield part, text


@nki_detector("nki_mixed_indexing", older)
def mixed_indexing(module: Module, flow: Flow) -> Reports:
    for node in _subscripts(flow):
        parts = parts_of(node)
        basic = next((p for p in parts if _is_basic(flow, p)), None)
        index = next((p for p in parts if flow.fact(p).kind is Kind.INDEX), None)
        if basic is not None and index is not None:
            text = (
                f"This subscript mixes the slice {source_of(module, basic)} with the index "
                f"{source_of(module, index)}: a subscript takes slices, or arange and mgrid, "
                f"but not both."
            )
            yield node, text


def _is_basic(flow: Flow, part: ast.expr) -> bool:
    if isinstance(part, ast.Slice):
        return True
    if isinstance(part, ast.Constant):
        return part.value is Ellipsis
    return flow.fact(part).kind is Kind.SLICE


@nki_detector("nki_variable_slice", older)
def variable_slice(module: Module, flow: Flow) -> Reports:
    for node in _subscripts(flow):
        for part in parts_of(node):
            if not isinstance(part, ast.Slice) or not flow.fact(part).loops:
                continue
            if _varies(flow, part):
                text = (
                    f"The slice {source_of(module, part)} has another length in each iteration of "
                    f"the loop, and the loop's body is compiled once, for one length."
                )
                yield part, text


def _varies(flow: Flow, node: ast.Slice) -> bool:
    """Whether ``stop - start`` still holds a loop's index when terms have cancelled."""
    stop = _length(flow, node.upper, _DEPTH) if node.upper else _atom("", SymbolKind.SIZE)
    start = _length(flow, node.lower, _DEPTH) if node.lower else ZERO
    return any(symbol.kind is SymbolKind.LOOP for symbol in (stop - start).symbols)


def _length(flow: Flow, node: ast.expr, depth: int) -> Affine:
    match node:
        case ast.Constant(value=int(value)):
            return Affine.from_value(int(value))
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()) if depth:
            left = _length(flow, node.left, depth - 1)
            return integer_arithmetic(node.op, left, _length(flow, node.right, depth - 1))
        case ast.Name() if depth:
            binding = flow.bound.get(node)
            if binding is not None and binding.value is not None:
                return _length(flow, binding.value, depth - 1)
    moves = flow.fact(node).kind is Kind.LOOP
    return _atom(ast.dump(node), SymbolKind.LOOP if moves else SymbolKind.SIZE)


def _atom(name: str, kind: SymbolKind) -> Affine:
    return Affine.from_value(Symbol((name, kind), kind, name))


@nki_detector("nki_indirect_index", older)
def indirect_index(module: Module, flow: Flow) -> Reports:
    refused = {
        id(argument) for call in flow.calls_of(*_DIRECT_ONLY) for argument in call.node.args[:1]
    }
    for node in _subscripts(flow):
        text = _indirect(flow, node, id(node) in refused)
        if text is not None:
            yield node, text
    for write in flow.writes:
        value = write.statement.value
        if isinstance(value, ast.Subscript) and _is_dynamic_part(flow, value):
            text = (
                "This copies a part of a tile whose place is read from another tile: that "
                "takes nisa.tensor_copy_dynamic_src, not an assignment."
            )
            yield value, text


def _is_dynamic_part(flow: Flow, node: ast.Subscript) -> bool:
    parts = parts_of(node)
    return flow.fact(node.value).is_tile and any(is_indirect(flow, part) for part in parts)


def _indirect(flow: Flow, node: ast.Subscript, refused: bool) -> str | None:
    parts = parts_of(node)
    places = [place for place, part in enumerate(parts) if is_indirect(flow, part)]
    if not places or flow.fact(node.value).is_tile:
        return None
    if refused and not any(isinstance(parts[place], ast.BinOp) for place in places):
        return "This subscript takes an index from a tile, and a transposing load takes none."
    last = len(parts) - 1
    if last in places and any(flow.fact(p).kind is Kind.INDEX for p in parts[:-1]):
        return (
            "The index of the last dimension is read from a tile: rows can be gathered, along the "
            "partition or a block dimension, but not elements of a row."
        )
    inner = parts[places[0]]
    if isinstance(inner, ast.Subscript) and any(
        flow.fact(part).is_grid for part in parts_of(inner)
    ):
        return (
            "The tile of row numbers is itself indexed with mgrid, which indirect access does not "
            "take: make its index with arange."
        )
    return None
