"""Functions that make tiles and change their shape."""

import tilewright.analysis.tiles.affine as affine
import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.arguments import Arguments
from tilewright.analysis.tiles.arithmetic import tensor_type
from tilewright.analysis.tiles.engine import Engine
from tilewright.analysis.tiles.extents import broadcast, without_axis
from tilewright.analysis.tiles.functions import function
from tilewright.analysis.tiles.members import numel, retyped, transposed
from tilewright.analysis.tiles.memory import dims
from tilewright.analysis.tiles.model import Dim, Kind, Shape, TileFacts


@function("full", "shape value dtype")
def _full(args: Arguments) -> TileFacts:
    filled = args.facts("value")
    dtype = args.dtype("dtype", tensor_type(filled))
    form = filled.affine if types.is_int(dtype) and filled.shape == () else None
    return args.engine.number(args.value, dims(args.engine, args.get("shape")), dtype, form)


@function("zeros", "shape dtype")
def _zeros(args: Arguments) -> TileFacts:
    dtype = args.dtype("dtype", None)
    form = affine.constant(0) if types.is_int(dtype) else None
    return args.engine.number(args.value, dims(args.engine, args.get("shape")), dtype, form)


@function("zeros_like", "input")
def _zeros_like(args: Arguments) -> TileFacts:
    facts = args.facts("input")
    form = affine.constant(0) if types.is_int(facts.dtype) else None
    return args.engine.number(args.value, facts.shape, tensor_type(facts), form)


@function("broadcast_to", "input")
def _broadcast_to(args: Arguments) -> TileFacts:
    return _filled(args, args.facts("input"), _variadic(args, "shape"))


@function("broadcast", "input other")
def _broadcast(args: Arguments) -> TileFacts:
    facts = args.facts("input")
    return _filled(args, facts, broadcast((facts.shape, args.facts("other").shape)))


def _filled(args: Arguments, facts: TileFacts, shape: Shape | None) -> TileFacts:
    form = facts.affine
    if form is not None and facts.shape is not None and shape is not None:
        form = affine.widened(form, len(facts.shape), len(shape)) if facts.shape else form
    if facts.kind is Kind.POINTER:
        return args.engine.pointer(shape, facts.dtype, facts.base, form)
    return args.engine.number(args.value, shape, tensor_type(facts), form)


def _variadic(args: Arguments, name: str) -> Shape | None:
    """A shape given as a tuple or as so many arguments."""
    given = args.get(name)
    if given is not None:
        return dims(args.engine, given)
    if len(args.rest) == 1:
        return dims(args.engine, args.rest[0])
    return tuple(args.engine.extent(v) for v in args.rest) if args.rest else None


@function("reshape view", "input")
def _reshape(args: Arguments) -> TileFacts:
    return retyped(args.engine, args.value, args.facts("input"), _variadic(args, "shape"))


@function("ravel", "x")
def _ravel(args: Arguments) -> TileFacts:
    facts = args.facts("x")
    size = numel(args.engine, facts.shape)
    return retyped(args.engine, args.value, facts, None if size is None else (size,))


@function("trans permute", "input")
def _trans(args: Arguments) -> TileFacts:
    facts = args.facts("input")
    given = args.get("dims")
    order = dims(args.engine, given) if given is not None else _variadic(args, "dims")
    if given is None and not args.rest:
        return transposed(args.engine, args.value, facts, None)
    axes = tuple(a for a in order or () if isinstance(a, int))
    if order is None or len(axes) != len(order):
        return retyped(args.engine, args.value, facts, None)
    return transposed(args.engine, args.value, facts, axes)


@function("expand_dims unsqueeze", "input axis")
def _expand_dims(args: Arguments) -> TileFacts:
    facts = args.facts("input")
    axes = dims(args.engine, args.get("axis") or args.get("dim"))
    if facts.shape is None or axes is None or not all(isinstance(a, int) for a in axes):
        return retyped(args.engine, args.value, facts, None)
    rank = len(facts.shape) + len(axes)
    added = {a % rank for a in axes if isinstance(a, int)}
    places = [p for p in range(rank) if p not in added]
    old = iter(facts.shape)
    shape = tuple(1 if p in added else next(old) for p in range(rank))
    form = affine.moved(facts.affine, lambda axis: places[axis])
    if facts.kind is Kind.POINTER:
        return args.engine.pointer(shape, facts.dtype, facts.base, form)
    return args.engine.number(args.value, shape, tensor_type(facts), form)


@function("squeeze", "x dim")
def _squeeze(args: Arguments) -> TileFacts:
    facts, axis = args.facts("x"), args.number("dim")
    shape = None if facts.shape is None or axis is None else without_axis(facts.shape, axis)
    return retyped(args.engine, args.value, facts, shape)


@function("join", "a b")
def _join(args: Arguments) -> TileFacts:
    a, b = args.facts("a"), args.facts("b")
    shape = broadcast((a.shape, b.shape))
    dtype = a.dtype if a.dtype is not None else b.dtype
    return args.engine.number(args.value, None if shape is None else (*shape, 2), dtype)


@function("interleave", "a b")
def _interleave(args: Arguments) -> TileFacts:
    a, b = args.facts("a"), args.facts("b")
    shape = broadcast((a.shape, b.shape))
    if shape is not None:
        shape = (*shape[:-1], _times(args.engine, shape[-1], 2)) if shape else (2,)
    return args.engine.number(args.value, shape, a.dtype if a.dtype is not None else b.dtype)


def _times(engine: Engine, extent: Dim, factor: int) -> Dim:
    polynomial = engine.polynomial(extent)
    assert polynomial is not None
    total = polynomial
    for _ in range(factor - 1):
        total = total + polynomial
    return engine.extent_of(total)


@function("cat", "input other can_reorder dim")
def _cat(args: Arguments) -> TileFacts:
    a, b = args.facts("input"), args.facts("other")
    axis = args.number("dim") if "dim" in args.named else 0
    shape = None
    if a.shape and b.shape and len(a.shape) == len(b.shape) and axis is not None:
        axis %= len(a.shape)
        one, two = args.engine.polynomial(a.shape[axis]), args.engine.polynomial(b.shape[axis])
        if one is not None and two is not None:
            shape = (*a.shape[:axis], args.engine.extent_of(one + two), *a.shape[axis + 1 :])
    if a.kind is Kind.POINTER:
        return args.engine.pointer(shape, a.dtype, None, None)
    return args.engine.number(args.value, shape, a.dtype if a.dtype == b.dtype else None)


@function("split", "a")
def _split(args: Arguments) -> TileFacts:
    facts = args.facts("a")
    shape = None if not facts.shape else facts.shape[:-1]
    half = TileFacts(Kind.SCALAR if shape == () else Kind.TILE, shape, facts.dtype)
    if shape is None:
        half = TileFacts(Kind.UNKNOWN, None, facts.dtype)
    return TileFacts(Kind.TUPLE, items=(half, half))


@function("item unsplat", "input")
def _item(args: Arguments) -> TileFacts:
    return args.engine.number(args.value, (), args.facts("input").dtype)


@function("gather", "src index axis")
def _gather(args: Arguments) -> TileFacts:
    return args.engine.number(args.value, args.facts("index").shape, args.facts("src").dtype)


@function("histogram", "input num_bins")
def _histogram(args: Arguments) -> TileFacts:
    bins = dims(args.engine, args.get("num_bins"))
    return args.engine.number(args.value, bins, "i32")


@function("sort flip", "x dim")
def _unchanged_facts(args: Arguments) -> TileFacts:
    facts = args.facts("x")
    return args.result(facts, facts.dtype)


@function("topk", "x k dim")
def _topk(args: Arguments) -> TileFacts:
    facts, count = args.facts("x"), dims(args.engine, args.get("k"))
    shape = None if not facts.shape or count is None else (*facts.shape[:-1], count[0])
    return args.engine.number(args.value, shape, facts.dtype)
