"""Loads, casts, block pointers and tensor descriptors."""

from collections.abc import Sequence

import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.engine import UNKNOWN, Engine
from tilewright.analysis.tiles.extents import broadcast
from tilewright.analysis.tiles.model import Dim, Kind, Shape, TileFacts
from tilewright.analysis.tiles.polynomial import Polynomial
from tilewright.analysis.values import Value

_BLOCKS = (Kind.BLOCK_POINTER, Kind.DESCRIPTOR)


def loaded(
    engine: Engine, value: Value, pointer: TileFacts, others: Sequence[TileFacts]
) -> TileFacts:
    """The result of a load: the pointer's shape, or that of its mask where it is wider."""
    if pointer.kind in _BLOCKS:
        return element(engine, value, pointer.shape, pointer.dtype)
    shape = pointer.shape
    if shape:
        # What cannot be derived of a mask or value is taken to fit the pointer.
        shape = broadcast((shape, *(o.shape for o in others if o.shape is not None))) or shape
    if pointer.kind is Kind.POINTER:
        return element(engine, value, shape, pointer.dtype)
    return engine.number(value, shape, None)


def element(engine: Engine, value: Value, shape: Shape | None, dtype: str | None) -> TileFacts:
    """What is stored at an address: a number, or a pointer to some."""
    if dtype is not None and dtype.startswith("*"):
        return engine.pointer(shape, dtype[1:], None, None)
    return engine.number(value, shape, dtype)


def cast_to(engine: Engine, value: Value, owner: TileFacts, dtype: str | None) -> TileFacts:
    """``x.to(dtype)``."""
    if dtype is not None and dtype.startswith("*"):
        return engine.pointer(owner.shape, dtype[1:], owner.base, None)
    is_number = owner.kind is not Kind.POINTER and types.is_int(dtype) and dtype != "i1"
    return engine.number(value, owner.shape, dtype, owner.affine if is_number else None)


def dims(engine: Engine, value: Value | None) -> tuple[Dim, ...] | None:
    """The extents that a tuple, a list or one number state."""
    if value is None:
        return None
    if value.op == "tuple":
        return tuple(engine.extent(part) for part in value.operands)
    facts = engine.facts_of(value)
    if facts.kind is Kind.CONSTEXPR:
        return (engine.extent(value),)
    if facts.items is None:
        return None
    found = [_stated(engine, item) for item in facts.items]
    return None if None in found else tuple(d for d in found if d is not None)


def _stated(engine: Engine, facts: TileFacts) -> Dim | None:
    if facts.constant is not None and isinstance(facts.constant.value, int):
        return int(facts.constant.value)
    if facts.affine is None or facts.affine.terms:
        return None
    return engine.extent_of(facts.affine.constant)


def block(
    engine: Engine,
    kind: Kind,
    base: Value | None,
    strides: Value | None,
    shape: Value | None,
) -> TileFacts:
    """A block pointer or descriptor over a base."""
    pointer = UNKNOWN if base is None else engine.facts_of(base)
    return TileFacts(
        kind,
        shape=dims(engine, shape),
        dtype=pointer.dtype if pointer.kind is Kind.POINTER else None,
        strides=None if strides is None else _strides(engine, strides),
        base=pointer.base,
    )


def _strides(engine: Engine, value: Value) -> tuple[Polynomial | None, ...] | None:
    items = engine.facts_of(value).items
    if items is None:
        return None
    forms = [item.affine for item in items]
    return tuple(None if f is None or f.terms else f.constant for f in forms)
