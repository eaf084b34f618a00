"""Values at the head of a loop and behind it."""

from dataclasses import replace

import tilewright.analysis.tiles.affine as affine
from tilewright.analysis.tiles.arithmetic import weak_type
from tilewright.analysis.tiles.engine import (
    UNKNOWN,
    Engine,
    loop_number,
    signed_increments,
)
from tilewright.analysis.tiles.joins import join, settled
from tilewright.analysis.tiles.model import Affine, Kind, TileFacts
from tilewright.analysis.tiles.polynomial import Polynomial
from tilewright.analysis.values import Value


def phi(engine: Engine, value: Value) -> TileFacts:
    turns = engine.subject.turns.get(loop_number(value))
    if not value.operands or turns is None:
        return UNKNOWN
    start = engine.facts_of(value.operands[0])
    if value.operands[0] in engine.subject.undefined:
        return UNKNOWN
    facts = replace(start, constant=None) if turns.is_static else settled(start, weak_type(start))
    if facts.kind is Kind.TUPLE:
        items = tuple(settled(i, weak_type(i)) for i in facts.items or ())
        return TileFacts(Kind.TUPLE, items=tuple(replace(i, affine=None) for i in items))
    form = _counted(engine, value, start)
    if facts.kind is Kind.POINTER:
        return engine.pointer(facts.shape, facts.dtype, facts.base, form)
    if facts.kind in (Kind.SCALAR, Kind.TILE):
        return replace(engine.number(value, facts.shape, facts.dtype, form), kind=facts.kind)
    return replace(facts, affine=form, constant=None)


def _counted(engine: Engine, head: Value, start: TileFacts) -> Affine | None:
    """A loop-carried offset by the index of its loop, where each turn adds the same."""
    step = _step(engine, head)
    turns = engine.subject.turns[loop_number(head)]
    if step is None or turns.bounds is None or start.affine is None:
        return None
    first, _, by = (engine.facts_of(v).affine for v in turns.bounds)
    if first is None or by is None or first.terms or by.terms:
        return None
    coefficient = affine.divided(step, by.constant)
    if coefficient is None:
        return None
    number = loop_number(head)
    index = engine.subject.flow.table.make(
        "loop_index", *turns.bounds, detail=number, varies=frozenset({number})
    )
    moving = affine.multiply(affine.of_index(index, None), affine.constant(coefficient))
    behind = affine.add(start.affine, affine.constant(-(coefficient * first.constant)))
    return None if moving is None or behind is None else affine.add(behind, moving)


def _step(engine: Engine, head: Value) -> Polynomial | None:
    """What a turn adds, if that is one number for all programs."""
    total = Polynomial.from_value(0)
    added = signed_increments(engine.subject, head)
    for value, sign in added or ():
        form = engine.facts_of(value).affine
        if form is None or form.terms:
            return None
        total = total + form.constant if sign > 0 else total - form.constant
    return total if added else None


def facts_after_loop(engine: Engine, value: Value) -> TileFacts:
    turns = engine.subject.turns.get(loop_number(value))
    end = engine.facts_of(value.operands[-1])
    if len(value.operands) == 1:
        return _without_form(engine, value, end)
    start = engine.facts_of(value.operands[0])
    if value.operands[0] in engine.subject.undefined:
        return _without_form(engine, value, end)
    if turns is not None and turns.is_static:
        merged = end if start.kind is Kind.CONSTEXPR else join(start, end, False)
    else:
        merged = join(settled(start, weak_type(start)), end, True)
    return _without_form(engine, value, merged)


def _without_form(engine: Engine, value: Value, facts: TileFacts) -> TileFacts:
    """Facts behind a loop, where indices no longer mean anything."""
    if facts.kind is Kind.POINTER:
        return engine.pointer(facts.shape, facts.dtype, facts.base, None)
    if facts.kind in (Kind.SCALAR, Kind.TILE):
        return replace(engine.number(value, facts.shape, facts.dtype), kind=facts.kind)
    return replace(facts, affine=None, constant=None)
