"""Attributes of tiles, pointers and element types."""

import tilewright.analysis.tiles.affine as affine
import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.engine import UNKNOWN, Engine, constexpr
from tilewright.analysis.tiles.model import Constant, Dim, Kind, Shape, TileFacts
from tilewright.analysis.tiles.polynomial import ONE
from tilewright.analysis.values import Value

_WIDTHS = ("primitive_bitwidth", "int_bitwidth")
_TYPED = (Kind.SCALAR, Kind.TILE, Kind.MASK, Kind.BLOCK_POINTER, Kind.DESCRIPTOR, Kind.UNKNOWN)


def attribute(engine: Engine, value: Value, owner: TileFacts) -> TileFacts:
    """``owner.name``."""
    name = str(value.detail)
    if name in ("dtype", "type"):
        return _type(owner)
    if owner.kind is Kind.DTYPE:
        return _of_type(owner, name)
    if name == "T":
        return transposed(engine, value, owner, None)
    if name in ("shape", "block_shape"):
        return _shape(engine, owner)
    if name == "numel":
        return _numel(engine, owner.shape)
    if name == "value":
        return owner
    return UNKNOWN


def _type(owner: TileFacts) -> TileFacts:
    if owner.kind is Kind.POINTER:
        return TileFacts(Kind.DTYPE, dtype=None if owner.dtype is None else f"*{owner.dtype}")
    if owner.kind in _TYPED:
        return TileFacts(Kind.DTYPE, dtype=owner.dtype)
    return UNKNOWN


def _of_type(owner: TileFacts, name: str) -> TileFacts:
    if name == "element_ty":
        dtype = None if owner.dtype is None else owner.dtype.removeprefix("*")
        return TileFacts(Kind.DTYPE, dtype=dtype)
    if name == "scalar":
        return owner
    if name in _WIDTHS:
        width = types.bits(owner.dtype)
        return constexpr(None if width is None else Constant(width))
    return UNKNOWN


def of_type(owner: TileFacts, name: str) -> TileFacts:
    """``dtype.is_fp16()`` and its like."""
    dtype = owner.dtype
    if dtype is None:
        return constexpr(None)
    answers = {
        "is_floating": types.is_float(dtype),
        "is_int": types.is_int(dtype),
        "is_ptr": dtype.startswith("*"),
        "is_int_signed": types.is_int(dtype) and dtype[0] == "i",
        "is_int_unsigned": dtype[0] == "u",
        "is_fp8": types.is_fp8(dtype),
        "is_bf16": dtype == "bf16",
        "is_standard_floating": types.is_float(dtype) and not types.is_fp8(dtype),
    }
    if name in answers:
        return constexpr(Constant(answers[name]))
    if name.startswith("is_fp"):
        return constexpr(Constant(dtype == name.removeprefix("is_")))
    spelled = types.named(name.removeprefix("is_"))
    return constexpr(None if spelled is None else Constant(dtype == spelled))


def extent_facts(engine: Engine, extent: Dim) -> TileFacts:
    """An extent as the constexpr that it is."""
    if isinstance(extent, int):
        return constexpr(Constant(extent))
    polynomial = engine.polynomial(extent)
    return constexpr(None, None if polynomial is None else affine.constant(polynomial))


def _shape(engine: Engine, owner: TileFacts) -> TileFacts:
    if owner.shape is None:
        return UNKNOWN
    return TileFacts(Kind.TUPLE, items=tuple(extent_facts(engine, d) for d in owner.shape))


def _numel(engine: Engine, shape: Shape | None) -> TileFacts:
    size = numel(engine, shape)
    return constexpr(None) if size is None else extent_facts(engine, size)


def numel(engine: Engine, shape: Shape | None) -> Dim | None:
    """The number of elements of a tile."""
    total = ONE
    for extent in shape or ():
        polynomial = engine.polynomial(extent)
        if polynomial is None:
            return None
        total = total * polynomial
    return None if shape is None else engine.extent_of(total)


def transposed(
    engine: Engine, value: Value, owner: TileFacts, order: tuple[int, ...] | None
) -> TileFacts:
    """A tile with its axes in another order; if None, with the last two swapped."""
    if owner.shape is None:
        return retyped(engine, value, owner, None)
    rank = len(owner.shape)
    if order is None:
        order = (*range(rank - 2), rank - 1, rank - 2) if rank > 1 else tuple(range(rank))
    order = tuple(axis % max(rank, 1) for axis in order)
    if sorted(order) != list(range(rank)):
        return retyped(engine, value, owner, None)
    shape = tuple(owner.shape[axis] for axis in order)
    places = {axis: place for place, axis in enumerate(order)}
    form = affine.moved(owner.affine, lambda axis: places[axis])
    if owner.kind is Kind.POINTER:
        return engine.pointer(shape, owner.dtype, owner.base, form)
    return engine.number(value, shape, owner.dtype, form)


def retyped(engine: Engine, value: Value, owner: TileFacts, shape: Shape | None) -> TileFacts:
    """The elements of a tile in another shape; what was known of their order is lost."""
    form = affine.without_axes(owner.affine)
    if owner.kind is Kind.POINTER:
        return engine.pointer(shape, owner.dtype, owner.base, form)
    return engine.number(value, shape, owner.dtype, form)
