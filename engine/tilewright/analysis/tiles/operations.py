"""Facts of a value from those of its operands: one small function for each op."""

from dataclasses import replace

import tilewright.analysis.tiles.affine as affine
import tilewright.analysis.tiles.fold as fold
import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.arguments import type_named_by
from tilewright.analysis.tiles.arithmetic import arithmetic_type, weak_type
from tilewright.analysis.tiles.calls import called, method
from tilewright.analysis.tiles.engine import (
    UNKNOWN,
    Engine,
    Transfer,
    branches,
    constexpr,
    loop_number,
    signed_increments,
)
from tilewright.analysis.tiles.extents import broadcast
from tilewright.analysis.tiles.joins import join, settled
from tilewright.analysis.tiles.members import attribute
from tilewright.analysis.tiles.memory import cast_to, loaded
from tilewright.analysis.tiles.model import Affine, Constant, Kind, TileFacts
from tilewright.analysis.tiles.polynomial import Polynomial
from tilewright.analysis.values import Value

TL = "triton.language."


def _const(engine: Engine, value: Value) -> TileFacts:
    return constexpr(Constant(value.detail))


def _parameter(engine: Engine, value: Value) -> TileFacts:
    facts = engine.subject.parameters.get(str(value.detail), UNKNOWN)
    if facts.constant is not None:
        return facts
    form = None
    if facts.kind is Kind.POINTER:
        form = affine.constant(0) if facts.shape == () else None
    elif facts.shape == () and facts.kind in (Kind.SCALAR, Kind.CONSTEXPR):
        is_number = facts.kind is Kind.SCALAR and not types.is_float(facts.dtype)
        if is_number or facts.divisibility > 0:
            form = affine.constant(Polynomial.of(value))
    strides = () if facts.shape == () and facts.kind is not Kind.UNKNOWN else None
    return replace(facts, affine=form, strides=strides, divisibility=max(1, facts.divisibility))


def _global(engine: Engine, value: Value) -> TileFacts:
    name = str(value.detail)
    dtype = types.named(name.removeprefix(TL))
    if dtype is not None:
        return TileFacts(Kind.DTYPE, dtype=dtype)
    return engine.subject.globals(name)


def _program_id(engine: Engine, value: Value) -> TileFacts:
    return engine.number(value, (), "i32", affine.of_index(value, None))


def _arange(engine: Engine, value: Value) -> TileFacts:
    start, end = (engine.of(v) for v in value.operands)
    shape = None
    if start.affine is not None and end.affine is not None:
        length = end.affine.constant - start.affine.constant
        shape = (engine.extent_of(length),)
    return engine.number(value, shape, "i32", affine.of_index(value, 0))


def _loop_index(engine: Engine, value: Value) -> TileFacts:
    turns = engine.subject.turns.get(int(str(value.detail)))
    if turns is not None and turns.is_static:
        return TileFacts(Kind.CONSTEXPR, (), types.WEAK, affine.of_index(value, None), ())
    if not value.operands:
        return UNKNOWN
    dtype = _bound_type(engine, value.operands)
    facts = engine.number(value, (), dtype, affine.of_index(value, None))
    return replace(facts, kind=Kind.SCALAR)


def _bound_type(engine: Engine, bounds: tuple[Value, ...]) -> str | None:
    """The type of a loop's index: what its bounds promote to."""
    found = "i32"
    for bound in bounds:
        facts = engine.of(bound)
        dtype = types.of_number(0) if facts.dtype == types.WEAK else facts.dtype
        promoted = None if dtype is None else types.promote(found, dtype)
        if promoted is None:
            return None
        found = promoted
    return found


def _load(engine: Engine, value: Value) -> TileFacts:
    others = [v for v in (value.keyword("mask"), value.keyword("other")) if v is not None]
    return loaded(engine, value, engine.of(value.operands[0]), [engine.of(v) for v in others])


def _cast(engine: Engine, value: Value) -> TileFacts:
    owner = engine.of(value.operands[0])
    if len(value.operands) > 1:
        dtype = type_named_by(engine.of(value.operands[1]))
    else:
        name = str(value.detail)
        dtype = types.named(name) or type_named_by(engine.subject.globals(name))
    return cast_to(engine, value, owner, dtype)


def _dot(engine: Engine, value: Value) -> TileFacts:
    return called(engine, value, TL + "dot", [*value.positional], _keywords(value))


def _binary(engine: Engine, value: Value) -> TileFacts:
    left, right = (engine.of(v) for v in value.operands)
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
    if Kind.UNKNOWN in kinds and (operator in ("Add", "Sub") or Kind.CONSTEXPR in kinds):
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


def _unary(engine: Engine, value: Value) -> TileFacts:
    inner = engine.of(value.operands[0])
    operator = str(value.detail)
    if inner.kind is Kind.CONSTEXPR:
        form = None if inner.affine is None else affine.negate(inner.affine)
        return constexpr(fold.unary(operator, inner.constant), form if operator == "USub" else None)
    if operator == "Not":
        return TileFacts(Kind.MASK, inner.shape, "i1")
    if operator == "USub":
        form = None if inner.affine is None else affine.negate(inner.affine)
        return engine.number(value, inner.shape, inner.dtype, form)
    if operator == "UAdd":
        return inner
    return engine.number(value, inner.shape, inner.dtype)


def _compare(engine: Engine, value: Value) -> TileFacts:
    left, right = (engine.of(v) for v in value.operands)
    operator = str(value.detail)
    if operator in ("In", "NotIn"):
        return constexpr(fold.member(left.constant, right, operator == "In"))
    if operator in ("Is", "IsNot"):
        return constexpr(_identity(left, right, operator == "Is"))
    if Kind.DTYPE in (left.kind, right.kind):
        return constexpr(_same_type(left, right, operator == "Eq"))
    if left.kind is Kind.CONSTEXPR and right.kind is Kind.CONSTEXPR:
        return constexpr(fold.binary(operator, left.constant, right.constant))
    shape = broadcast((left.shape, right.shape))
    if {left.kind, right.kind} <= {Kind.CONSTEXPR, Kind.UNKNOWN} and not shape:
        return TileFacts(Kind.UNKNOWN, shape)
    return TileFacts(Kind.MASK, shape, "i1")


def _identity(left: TileFacts, right: TileFacts, holds: bool) -> Constant | None:
    """``x is None``: a tensor is not."""
    if right.constant is None:
        return None
    if left.constant is not None:
        return fold.binary("Is" if holds else "IsNot", left.constant, right.constant)
    is_tensor = left.kind in (Kind.TILE, Kind.MASK) or (
        left.kind in (Kind.POINTER, Kind.SCALAR) and left.dtype is not None
    )
    return Constant(not holds) if is_tensor and right.constant.value is None else None


def _same_type(left: TileFacts, right: TileFacts, holds: bool) -> Constant | None:
    if left.kind is not right.kind or left.dtype is None or right.dtype is None:
        return None
    return Constant((left.dtype == right.dtype) == holds)


def _bool(engine: Engine, value: Value) -> TileFacts:
    parts = [engine.of(v) for v in value.operands]
    stops = value.detail == "Or"
    rest = []
    for part in parts:
        known = fold.truth(part.constant) if part.kind is Kind.CONSTEXPR else None
        if known is None:
            rest.append(part)
        elif known == stops and not rest:
            return constexpr(Constant(stops))
    if not rest:
        return constexpr(Constant(not stops))
    if any(part.kind in (Kind.CONSTEXPR, Kind.UNKNOWN) for part in rest):
        is_constexpr = all(part.kind is Kind.CONSTEXPR for part in rest)
        return constexpr(None) if is_constexpr else UNKNOWN
    return TileFacts(Kind.MASK, broadcast(part.shape for part in rest), "i1")


def _expand(engine: Engine, value: Value) -> TileFacts:
    inner = engine.of(value.operands[0])
    form = str(value.detail).split(",")
    if inner.shape is None or form.count(":") > len(inner.shape):
        return UNKNOWN if inner.kind is not Kind.POINTER else replace(inner, shape=None)
    form += [":"] * (len(inner.shape) - form.count(":"))
    places = [place for place, part in enumerate(form) if part == ":"]
    extents = iter(inner.shape)
    shape = tuple(next(extents) if part == ":" else 1 for part in form)
    moved = affine.moved(inner.affine, lambda axis: places[axis])
    if inner.kind is Kind.POINTER:
        return engine.pointer(shape, inner.dtype, inner.base, moved)
    if inner.kind is Kind.CONSTEXPR:
        return engine.number(value, shape, weak_type(inner), moved)
    return engine.number(value, shape, inner.dtype, moved)


def _item(engine: Engine, value: Value) -> TileFacts:
    owner = engine.of(value.operands[0])
    place = value.detail
    if owner.items is None or not isinstance(place, int):
        return UNKNOWN
    if not -len(owner.items) <= place < len(owner.items):
        return UNKNOWN
    return _own(engine, value, owner.items[place])


def _tuple(engine: Engine, value: Value) -> TileFacts:
    return TileFacts(Kind.TUPLE, items=tuple(engine.of(v) for v in value.operands))


def _select(engine: Engine, value: Value) -> TileFacts:
    condition = engine.of(value.operands[0])
    found: TileFacts | None = None
    is_runtime = condition.kind in (Kind.SCALAR, Kind.MASK)
    for choice in branches(condition, value):
        if choice in engine.subject.undefined:
            continue
        facts = engine.of(choice)
        found = facts if found is None else join(found, facts, is_runtime)
    if found is None:
        return UNKNOWN
    return _own(engine, value, found)


def _own(engine: Engine, value: Value, facts: TileFacts) -> TileFacts:
    """Facts with the value as its own form, where it has none."""
    if facts.affine is not None or facts.kind not in (Kind.SCALAR, Kind.TILE):
        return facts
    return replace(engine.number(value, facts.shape, facts.dtype), kind=facts.kind)


def _phi(engine: Engine, value: Value) -> TileFacts:
    turns = engine.subject.turns.get(loop_number(value))
    if not value.operands or turns is None:
        return UNKNOWN
    start = engine.of(value.operands[0])
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


def _counted(engine: Engine, phi: Value, start: TileFacts) -> Affine | None:
    """A loop-carried offset by the index of its loop, where each turn adds the same."""
    step = _step(engine, phi)
    turns = engine.subject.turns[loop_number(phi)]
    if step is None or turns.bounds is None or start.affine is None:
        return None
    first, _, by = (engine.of(v).affine for v in turns.bounds)
    if first is None or by is None or first.terms or by.terms:
        return None
    coefficient = affine.divided(step, by.constant)
    if coefficient is None:
        return None
    number = loop_number(phi)
    index = engine.subject.flow.table.make(
        "loop_index", *turns.bounds, detail=number, varies=frozenset({number})
    )
    moving = affine.multiply(affine.of_index(index, None), affine.constant(coefficient))
    behind = affine.add(start.affine, affine.constant(-(coefficient * first.constant)))
    return None if moving is None or behind is None else affine.add(behind, moving)


def _step(engine: Engine, phi: Value) -> Polynomial | None:
    """What a turn adds, if that is one number for all programs."""
    total = Polynomial.of(0)
    added = signed_increments(engine.subject, phi)
    for value, sign in added or ():
        form = engine.of(value).affine
        if form is None or form.terms:
            return None
        total = total + form.constant if sign > 0 else total - form.constant
    return total if added else None


def _after(engine: Engine, value: Value) -> TileFacts:
    turns = engine.subject.turns.get(loop_number(value))
    end = engine.of(value.operands[-1])
    if len(value.operands) == 1:
        return _without_form(engine, value, end)
    start = engine.of(value.operands[0])
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


def _opaque(engine: Engine, value: Value) -> TileFacts:
    source = engine.subject.sources.get(value)
    inlined = engine.subject.inline(value)
    if inlined is not None:
        return engine.of(inlined)
    if source is None:
        return UNKNOWN
    given = [*source.positional]
    keywords = dict(source.keywords)
    if source.is_method:
        return method(engine, value, source.name, given, keywords)
    return called(engine, value, source.name, given, keywords)


def _call(engine: Engine, value: Value) -> TileFacts:
    inlined = engine.subject.inline(value)
    if inlined is not None:
        return engine.of(inlined)
    return called(engine, value, str(value.detail), [*value.positional], _keywords(value))


def _method(engine: Engine, value: Value) -> TileFacts:
    return method(engine, value, str(value.detail), [*value.positional], _keywords(value))


def _attribute(engine: Engine, value: Value) -> TileFacts:
    return attribute(engine, value, engine.of(value.operands[0]))


def _keywords(value: Value) -> dict[str, Value]:
    given = value.operands[len(value.operands) - len(value.keywords) :]
    return dict(zip(value.keywords, given, strict=True))


TRANSFERS: dict[str, Transfer] = {
    "const": _const,
    "param": _parameter,
    "global": _global,
    "program_id": _program_id,
    "arange": _arange,
    "loop_index": _loop_index,
    "load": _load,
    "cast": _cast,
    "dot": _dot,
    "binary": _binary,
    "unary": _unary,
    "compare": _compare,
    "bool": _bool,
    "expand": _expand,
    "item": _item,
    "tuple": _tuple,
    "select": _select,
    "phi": _phi,
    "after": _after,
    "opaque": _opaque,
    "call": _call,
    "method": _method,
    "attribute": _attribute,
}
"""What each op of a flow makes of its operands."""
