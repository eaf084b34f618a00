"""Functions that work element by element: arithmetic, casts, random numbers, hints."""

import tilewright.analysis.tiles.affine as affine
import tilewright.analysis.tiles.fold as fold
import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.arguments import Arguments, type_named_by
from tilewright.analysis.tiles.arithmetic import common_type, tensor_type
from tilewright.analysis.tiles.engine import constexpr
from tilewright.analysis.tiles.extents import broadcast
from tilewright.analysis.tiles.functions import function
from tilewright.analysis.tiles.memory import cast_to, dims
from tilewright.analysis.tiles.model import Dim, Kind, Shape, TileFacts


@function("exp exp2 log log2 cos sin sqrt sqrt_rn rsqrt erf floor ceil abs", "x")
def _same(args: Arguments) -> TileFacts:
    facts = args.facts("x")
    return args.result(facts, tensor_type(facts))


@function("sigmoid softmax", "x")
def _divided(args: Arguments) -> TileFacts:
    facts = args.facts("x")
    dtype = tensor_type(facts)
    return args.result(facts, None if dtype is None else types.promote(dtype, dtype, divides=True))


@function("maximum minimum add sub mul umulhi", "x y")
def _elementwise(args: Arguments) -> TileFacts:
    return combined(args, [args.facts("x"), args.facts("y")])


@function("fma", "x y z")
def _fma(args: Arguments) -> TileFacts:
    return combined(args, [args.facts("x"), args.facts("y"), args.facts("z")])


@function("clamp", "x min max")
def _clamp(args: Arguments) -> TileFacts:
    return combined(args, [args.facts("x"), args.facts("min"), args.facts("max")])


@function("fdiv div_rn", "x y")
def _fdiv(args: Arguments) -> TileFacts:
    return combined(args, [args.facts("x"), args.facts("y")], divides=True)


def combined(args: Arguments, parts: list[TileFacts], divides: bool = False) -> TileFacts:
    shape = broadcast(p.shape for p in parts)
    return args.engine.number(args.value, shape, common_type(parts, divides))


@function("where", "condition x y")
def _where(args: Arguments) -> TileFacts:
    x, y = args.facts("x"), args.facts("y")
    shape = broadcast((args.facts("condition").shape, x.shape, y.shape))
    if Kind.POINTER in (x.kind, y.kind):
        pointer = x if x.kind is Kind.POINTER else y
        base = pointer.base if x.base == y.base else None
        return args.engine.pointer(shape, pointer.dtype, base, None)
    return args.engine.number(args.value, shape, common_type([x, y]))


@function("cdiv", "x div")
def _cdiv(args: Arguments) -> TileFacts:
    parts = [args.facts("x"), args.facts("div")]
    if all(p.kind is Kind.CONSTEXPR for p in parts):
        return folded(args, "cdiv", parts)
    shape = broadcast(p.shape for p in parts)
    return args.engine.number(args.value, shape, common_type(parts))


@function("constexpr to_tensor", "value")
def _constexpr(args: Arguments) -> TileFacts:
    return args.facts("value")


@function("pointer_type", "element_ty")
def _pointer_type(args: Arguments) -> TileFacts:
    dtype = type_named_by(args.facts("element_ty"))
    return TileFacts(Kind.DTYPE, dtype=None if dtype is None else f"*{dtype}")


@function("num_programs", "axis")
def _num_programs(args: Arguments) -> TileFacts:
    return args.engine.number(args.value, (), "i32")


@function("cast", "input dtype")
def _cast(args: Arguments) -> TileFacts:
    return cast_to(args.engine, args.value, args.facts("input"), args.dtype("dtype", None))


@function("philox", "seed c0 c1 c2 c3 n_rounds")
def _philox(args: Arguments) -> TileFacts:
    parts = [args.facts(name) for name in ("c0", "c1", "c2", "c3")]
    width = types.bits(tensor_type(parts[0]))
    return _four(broadcast(p.shape for p in parts), None if width is None else f"u{width}")


def _four(shape: Shape | None, dtype: str | None) -> TileFacts:
    kind = Kind.UNKNOWN if shape is None else Kind.TILE if shape else Kind.SCALAR
    return TileFacts(Kind.TUPLE, items=(TileFacts(kind, shape, dtype),) * 4)


@function("rand randn", "seed offset n_rounds")
def _random(args: Arguments) -> TileFacts:
    return args.result(args.facts("offset"), "fp32")


@function("randint", "seed offset n_rounds")
def _randint(args: Arguments) -> TileFacts:
    return args.result(args.facts("offset"), "u32")


@function("rand4x randn4x randint4x", "seed offset n_rounds")
def _random4(args: Arguments) -> TileFacts:
    return _four(args.facts("offset").shape, "u32" if args.name == "randint4x" else "fp32")


@function("inline_asm_elementwise", "asm constraints args dtype is_pure pack")
def _asm(args: Arguments) -> TileFacts:
    given = args.facts("args").items
    shape = None if given is None else broadcast(item.shape for item in given)
    wanted = args.facts("dtype")
    if wanted.items is not None:
        kind = Kind.TILE if shape else Kind.UNKNOWN
        dtypes = [type_named_by(item) for item in wanted.items]
        return TileFacts(Kind.TUPLE, items=tuple(TileFacts(kind, shape, d) for d in dtypes))
    return args.engine.number(args.value, shape, type_named_by(wanted))


@function("multiple_of max_constancy", "input values")
def _hinted(args: Arguments) -> TileFacts:
    return _with_power(args, args.facts("input"), _hint(args))


def _hint(args: Arguments) -> tuple[Dim, ...]:
    return dims(args.engine, args.get("values")) or ()


def _with_power(args: Arguments, facts: TileFacts, hint: tuple[Dim, ...]) -> TileFacts:
    is_multiple = args.name == "multiple_of"
    numbers = [h for h in hint if isinstance(h, int) and h > 0]
    if not is_multiple or len(numbers) != len(hint) or not numbers:
        return facts
    power = max(facts.divisibility, min(n & -n for n in numbers))
    return TileFacts(
        facts.kind, facts.shape, facts.dtype, facts.affine, facts.strides, power, base=facts.base
    )


@function("max_contiguous", "input values")
def _contiguous(args: Arguments) -> TileFacts:
    """A promise that neighbours differ by one; it counts where it covers the whole axis."""
    facts, hint = args.facts("input"), _hint(args)
    known = facts.strides is not None and None not in facts.strides
    if known or facts.shape is None or len(facts.shape) != 1 or hint != facts.shape:
        return facts
    if facts.kind is Kind.POINTER:
        return facts
    args.engine.unit.add(args.value)
    found = args.engine.number(args.value, facts.shape, facts.dtype, affine.of_index(args.value, 0))
    return TileFacts(
        found.kind, found.shape, found.dtype, found.affine, found.strides, facts.divisibility
    )


@function("swizzle2d", "i j size_i size_j size_g")
def _swizzle(args: Arguments) -> TileFacts:
    parts = [args.engine.facts_of(v) for v in args.every]
    dtype = common_type(parts)
    shape = broadcast(p.shape for p in parts)
    kind = Kind.UNKNOWN if shape is None else Kind.TILE if shape else Kind.SCALAR
    return TileFacts(Kind.TUPLE, items=(TileFacts(kind, shape, dtype),) * 2)


@function("next_power_of_2", "n")
def _next_power(args: Arguments) -> TileFacts:
    return folded(args, "next_power_of_2", [args.facts("n")])


def folded(args: Arguments, name: str, parts: list[TileFacts]) -> TileFacts:
    """A number known when the kernel is compiled, by its own name where it is not known here."""
    known = fold.function(name, [p.constant for p in parts])
    is_whole = all(p.affine is not None for p in parts)
    return constexpr(known, args.engine.own_form(args.value, ()) if is_whole else None)
