"""Arithmetic on two values: numbers, addresses, tuples."""

from dataclasses import replace

import tilewright.analysis.tiles.affine as affine
import tilewright.analysis.tiles.fold as fold
import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.arithmetic import arithmetic_type
from tilewright.analysis.tiles.engine import (
    UNKNOWN,
    Engine,
    constexpr,
)
from tilewright.analysis.tiles.extents import broadcast
from tilewright.analysis.tiles.model import Affine, Kind, TileFacts
from tilewright.analysis.values import Value


def binary(engine: Engine, value: Value) -> TileFacts:
    left, right = (engine.facts_of(v) for v in value.operands)
    operator = str(value.detail)
    if left.kind is Kind.CONSTEXPR and right.kind is Kind.CONSTEXPR:
        form = None if operator == "Div" else _form(engine, value, left, right)
        return constexpr(fold.binary(operator, left.constant, right.constant), form)
    if Kind.TUPLE in (left.kind, right.kind):
        return _tuples(left, right, operator)
    if Kind.POINTER in (left.kind, right.kind):
        return _address(engine, value, left, right)
    shape = broadcast((left.shape, right.shape))
    dtype = arithmetic_type(*engine.variables.operands(value, left, right), operator)
    facts = engine.number(value, shape, dtype, _form(engine, value, left, right))
    kinds = {left.kind, right.kind}
    is_open = operator in ("Add", "Sub") or kinds <= {Kind.UNKNOWN, Kind.CONSTEXPR}
    if Kind.UNKNOWN in kinds and is_open:
        # The one that is not known may be a pointer, or known when the kernel is compiled.
        return replace(facts, kind=Kind.UNKNOWN)
    return facts


def _tuples(left: TileFacts, right: TileFacts, operator: str) -> TileFacts:
    if operator == "Add" and left.items is not None and right.items is not None:
        return TileFacts(Kind.TUPLE, items=(*left.items, *right.items))
    times = right.constant.value if right.constant is not None else None
    if operator == "Mult" and left.items is not None and isinstance(times, int) and times < 64:
        return TileFacts(Kind.TUPLE, items=left.items * times)
    return UNKNOWN


def _address(engine: Engine, value: Value, left: TileFacts, right: TileFacts) -> TileFacts:
    """Pointer and offset, in either order."""
    operator = value.detail
    pointer, offset = left, right
    if left.kind is not Kind.POINTER:
        pointer, offset = right, left
    if offset.kind is Kind.POINTER or operator not in ("Add", "Sub"):
        return UNKNOWN
    shape = broadcast((left.shape, right.shape))
    form = _form(engine, value, left, right)
    return engine.pointer(shape, pointer.dtype, pointer.base, form)


def _form(engine: Engine, value: Value, left: TileFacts, right: TileFacts) -> Affine | None:
    """The affine form of a result; what has none of its own counts as an index."""
    if left.shape is None or right.shape is None:
        return None
    one, two = left.affine, right.affine
    if one is None and two is None:
        return None
    one = one if one is not None else _as_index(engine, value.operands[0], left)
    two = two if two is not None else _as_index(engine, value.operands[1], right)
    if one is None or two is None:
        return None
    rank = max(len(left.shape), len(right.shape))
    a = affine.widened(one, len(left.shape), rank)
    b = affine.widened(two, len(right.shape), rank)
    return _combined(engine, value, left, right, (a, b))


def _as_index(engine: Engine, value: Value, facts: TileFacts) -> Affine | None:
    if facts.kind is Kind.POINTER or types.is_float(facts.dtype):
        return None
    return engine.own_form(value, facts.shape)


def _combined(
    engine: Engine,
    value: Value,
    left: TileFacts,
    right: TileFacts,
    forms: tuple[Affine | None, Affine | None],
) -> Affine | None:
    one, two = forms
    if one is None or two is None:
        return None
    match value.detail:
        case "Add":
            found = affine.add(one, two)
        case "Sub":
            found = affine.add(one, affine.negate(two))
        case "Mult":
            found = affine.multiply(one, two)
        case _:
            found = None
    if found is None and Kind.POINTER not in (left.kind, right.kind):
        return engine.own_form(value, broadcast((left.shape, right.shape)))
    return found
