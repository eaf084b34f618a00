"""Facts of a value from those of its operands: one small function for each op."""

from dataclasses import replace

import tilewright.analysis.tiles.affine as affine
import tilewright.analysis.tiles.fold as fold
import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.arguments import type_named_by
from tilewright.analysis.tiles.arithmetic import weak_type
from tilewright.analysis.tiles.calls import call_facts, method
from tilewright.analysis.tiles.carried import facts_after_loop, phi
from tilewright.analysis.tiles.engine import (
    UNKNOWN,
    Engine,
    Transfer,
    branches,
    constexpr,
)
from tilewright.analysis.tiles.extents import broadcast
from tilewright.analysis.tiles.joins import join
from tilewright.analysis.tiles.members import attribute
from tilewright.analysis.tiles.memory import cast_to, loaded
from tilewright.analysis.tiles.model import Constant, Kind, TileFacts
from tilewright.analysis.tiles.polynomial import Polynomial
from tilewright.analysis.tiles.sums import binary
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
            form = affine.constant(Polynomial.from_value(value))
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
    start, end = (engine.facts_of(v) for v in value.operands)
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
        facts = engine.facts_of(bound)
        dtype = types.of_number(0) if facts.dtype == types.WEAK else facts.dtype
        promoted = None if dtype is None else types.promote(found, dtype)
        if promoted is None:
            return None
        found = promoted
    return found


def _load(engine: Engine, value: Value) -> TileFacts:
    others = [v for v in (value.keyword("mask"), value.keyword("other")) if v is not None]
    return loaded(
        engine, value, engine.facts_of(value.operands[0]), [engine.facts_of(v) for v in others]
    )


def _cast(engine: Engine, value: Value) -> TileFacts:
    owner = engine.facts_of(value.operands[0])
    if len(value.operands) > 1:
        dtype = type_named_by(engine.facts_of(value.operands[1]))
    else:
        name = str(value.detail)
        dtype = types.named(name) or type_named_by(engine.subject.globals(name))
    return cast_to(engine, value, owner, dtype)


def _dot(engine: Engine, value: Value) -> TileFacts:
    return call_facts(engine, value, TL + "dot", [*value.positional], _keywords(value))


def _unary(engine: Engine, value: Value) -> TileFacts:
    inner = engine.facts_of(value.operands[0])
    operator = str(value.detail)
    if inner.kind is Kind.CONSTEXPR:
        form = None if inner.affine is None else affine.negate(inner.affine)
        return constexpr(fold.unary(operator, inner.constant), form if operator == "USub" else None)
    if operator == "Not":
        if inner.kind is Kind.UNKNOWN:
            return TileFacts(Kind.UNKNOWN, inner.shape)
        return TileFacts(Kind.MASK, inner.shape, "i1")
    if operator == "USub":
        form = None if inner.affine is None else affine.negate(inner.affine)
        return engine.number(value, inner.shape, inner.dtype, form)
    if operator == "UAdd":
        return inner
    return engine.number(value, inner.shape, inner.dtype)


def _compare(engine: Engine, value: Value) -> TileFacts:
    left, right = (engine.facts_of(v) for v in value.operands)
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
    parts = [engine.facts_of(v) for v in value.operands]
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
    inner = engine.facts_of(value.operands[0])
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
    owner = engine.facts_of(value.operands[0])
    place = value.detail
    if owner.items is None or not isinstance(place, int):
        return UNKNOWN
    if not -len(owner.items) <= place < len(owner.items):
        return UNKNOWN
    return _own(engine, value, owner.items[place])


def _tuple(engine: Engine, value: Value) -> TileFacts:
    return TileFacts(Kind.TUPLE, items=tuple(engine.facts_of(v) for v in value.operands))


def _select(engine: Engine, value: Value) -> TileFacts:
    condition = engine.facts_of(value.operands[0])
    found: TileFacts | None = None
    is_runtime = condition.kind in (Kind.SCALAR, Kind.MASK)
    for choice in branches(condition, value):
        if choice in engine.subject.undefined:
            continue
        facts = engine.facts_of(choice)
        found = facts if found is None else join(found, facts, is_runtime)
    if found is None:
        return UNKNOWN
    return _own(engine, value, found)


def _own(engine: Engine, value: Value, facts: TileFacts) -> TileFacts:
    """Facts with the value as its own form, where it has none."""
    if facts.affine is not None or facts.kind not in (Kind.SCALAR, Kind.TILE):
        return facts
    return replace(engine.number(value, facts.shape, facts.dtype), kind=facts.kind)


def _opaque(engine: Engine, value: Value) -> TileFacts:
    source = engine.subject.sources.get(value)
    inlined = engine.subject.inline(value)
    if inlined is not None:
        return engine.facts_of(inlined)
    if source is None:
        return UNKNOWN
    given = [*source.positional]
    keywords = dict(source.keywords)
    if source.is_method:
        return method(engine, value, source.name, given, keywords)
    return call_facts(engine, value, source.name, given, keywords)


def _call(engine: Engine, value: Value) -> TileFacts:
    inlined = engine.subject.inline(value)
    if inlined is not None:
        return engine.facts_of(inlined)
    return call_facts(engine, value, str(value.detail), [*value.positional], _keywords(value))


def _method(engine: Engine, value: Value) -> TileFacts:
    return method(engine, value, str(value.detail), [*value.positional], _keywords(value))


def _attribute(engine: Engine, value: Value) -> TileFacts:
    return attribute(engine, value, engine.facts_of(value.operands[0]))


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
    "binary": binary,
    "unary": _unary,
    "compare": _compare,
    "bool": _bool,
    "expand": _expand,
    "item": _item,
    "tuple": _tuple,
    "select": _select,
    "phi": phi,
    "after": facts_after_loop,
    "opaque": _opaque,
    "call": _call,
    "method": _method,
    "attribute": _attribute,
}
"""What each op of a flow makes of its operands."""
