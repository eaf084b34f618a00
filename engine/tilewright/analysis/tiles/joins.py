"""What is known of a value that may be one of two."""

from dataclasses import replace
from typing import TypeVar

import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.arithmetic import tensor_type
from tilewright.analysis.tiles.model import Kind, TileFacts

_T = TypeVar("_T")


def settled(facts: TileFacts, dtype: str | None) -> TileFacts:
    """A Python number as the scalar that a run-time branch or loop makes of it."""
    if facts.kind is not Kind.CONSTEXPR:
        return facts
    if facts.constant is not None and not isinstance(facts.constant.value, int | float):
        return TileFacts(Kind.UNKNOWN)
    kind = Kind.UNKNOWN if dtype is None else Kind.MASK if dtype == "i1" else Kind.SCALAR
    return replace(facts, kind=kind, dtype=dtype, constant=None)


def join(one: TileFacts, two: TileFacts, is_runtime: bool) -> TileFacts:
    """What holds of both.

    Where a program decides at run time, both must have one type or the kernel does not
    compile: then what is known of either holds.
    """
    if one == two and not (is_runtime and one.kind is Kind.CONSTEXPR):
        return one
    if one.kind is Kind.TUPLE and two.kind is Kind.TUPLE:
        return _tuples(one, two, is_runtime)
    if is_runtime:
        one, two = settled(one, tensor_type(one)), settled(two, tensor_type(two))
        shape = _either(one.shape, two.shape)
        dtype = _either(one.dtype, two.dtype)
        kind = two.kind if one.kind is Kind.UNKNOWN else one.kind
        if two.kind not in (kind, Kind.UNKNOWN):
            kind = Kind.UNKNOWN
    else:
        shape = one.shape if one.shape == two.shape else None
        dtype = one.dtype if one.dtype == two.dtype else None
        kind = one.kind if one.kind is two.kind else Kind.UNKNOWN
        if {one.kind, two.kind} == {Kind.CONSTEXPR, Kind.SCALAR}:
            kind = Kind.SCALAR
    same = one.affine is not None and one.affine == two.affine
    return TileFacts(
        kind=kind,
        shape=shape,
        dtype=dtype,
        affine=one.affine if same else None,
        strides=one.strides if one.strides == two.strides else None,
        divisibility=min(one.divisibility, two.divisibility),
        base=one.base if one.base == two.base else None,
        constant=one.constant if one.constant == two.constant and dtype == types.WEAK else None,
    )


def _either(one: _T | None, two: _T | None) -> _T | None:
    """What either says, None where they disagree."""
    if one is None or two is None:
        return two if one is None else one
    return one if one == two else None


def _tuples(one: TileFacts, two: TileFacts, is_runtime: bool) -> TileFacts:
    if one.items is None or two.items is None or len(one.items) != len(two.items):
        return TileFacts(Kind.TUPLE)
    pairs = zip(one.items, two.items, strict=True)
    return TileFacts(Kind.TUPLE, items=tuple(join(a, b, is_runtime) for a, b in pairs))
