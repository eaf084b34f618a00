"""Functions of ``triton.language`` by name: what each returns."""

import re
from collections.abc import Callable, Mapping, Sequence

import tilewright.analysis.tiles.affine as affine
import tilewright.analysis.tiles.fold as fold
import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.arguments import Arguments, bind, type_named_by
from tilewright.analysis.tiles.arithmetic import common_type, tensor_type
from tilewright.analysis.tiles.engine import UNKNOWN, Engine, constexpr
from tilewright.analysis.tiles.extents import broadcast, without
from tilewright.analysis.tiles.joins import settled
from tilewright.analysis.tiles.members import numel, of_type, retyped, transposed
from tilewright.analysis.tiles.memory import block, cast_to, dims, element, loaded
from tilewright.analysis.tiles.model import Constant, Dim, Kind, Shape, TileFacts
from tilewright.analysis.values import Value

_Function = Callable[[Arguments], TileFacts]
_FUNCTIONS: dict[str, tuple[tuple[str, ...], _Function]] = {}
_PREFIX = re.compile(r"^triton\.(language\.)?((math|core|standard|random|extra)\.)?")
_EXTERN = re.compile(r"(^|\.)(libdevice|tl_extra_shim)\.")


def function(names: str, signature: str = "") -> Callable[[_Function], _Function]:
    """Register what functions return, by their names and the names of their parameters."""

    def register(transfer: _Function) -> _Function:
        for name in names.split():
            _FUNCTIONS[name] = (tuple(signature.split()), transfer)
        return transfer

    return register


def called(
    engine: Engine,
    value: Value,
    dotted: str,
    positional: Sequence[Value],
    keywords: Mapping[str, Value],
) -> TileFacts:
    """What a call of a dotted name returns."""
    if _EXTERN.search(dotted):
        return _extern(bind(dotted.rpartition(".")[2], engine, value, (), positional, keywords))
    name = _PREFIX.sub("", dotted)
    if dotted == name:
        return _python(bind(name, engine, value, ("x",), positional, keywords))
    if name not in _FUNCTIONS:
        return UNKNOWN
    signature, transfer = _FUNCTIONS[name]
    return transfer(bind(name, engine, value, signature, positional, keywords))


def method(
    engine: Engine,
    value: Value,
    name: str,
    positional: Sequence[Value],
    keywords: Mapping[str, Value],
) -> TileFacts:
    """What a method of the first operand returns."""
    owner = engine.of(positional[0])
    if owner.kind is Kind.DTYPE:
        return of_type(owner, name)
    if owner.kind is Kind.DESCRIPTOR:
        return _descriptor_method(engine, value, name, owner, positional)
    if name == "to":
        name = "cast"
    if name == "load" or name not in _FUNCTIONS:
        return UNKNOWN
    signature, transfer = _FUNCTIONS[name]
    return transfer(bind(name, engine, value, signature, positional, keywords))


def _descriptor_method(
    engine: Engine, value: Value, name: str, owner: TileFacts, positional: Sequence[Value]
) -> TileFacts:
    if name == "load":
        return element(engine, value, owner.shape, owner.dtype)
    if name == "gather" and owner.shape is not None and len(positional) > 1:
        rows = engine.of(positional[1]).shape
        if rows is not None and len(rows) == 1 and len(owner.shape) == 2:
            return element(engine, value, (rows[0], owner.shape[1]), owner.dtype)
    return UNKNOWN


_PREDICATES = ("is", "finite", "signbit")


def _extern(args: Arguments) -> TileFacts:
    """A function of libdevice: elementwise on floats."""
    parts = [args.engine.of(v) for v in args.every]
    shape = broadcast(p.shape for p in parts)
    dtype = common_type(parts)
    if not types.is_float(dtype) or args.name.startswith(_PREDICATES):
        dtype = None
    return args.engine.number(args.value, shape, dtype)


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
    return _combined(args, [args.facts("x"), args.facts("y")])


@function("fma", "x y z")
def _fma(args: Arguments) -> TileFacts:
    return _combined(args, [args.facts("x"), args.facts("y"), args.facts("z")])


@function("clamp", "x min max")
def _clamp(args: Arguments) -> TileFacts:
    return _combined(args, [args.facts("x"), args.facts("min"), args.facts("max")])


@function("fdiv div_rn", "x y")
def _fdiv(args: Arguments) -> TileFacts:
    return _combined(args, [args.facts("x"), args.facts("y")], divides=True)


def _combined(args: Arguments, parts: list[TileFacts], divides: bool = False) -> TileFacts:
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
        return _folded(args, "cdiv", parts)
    shape = broadcast(p.shape for p in parts)
    return args.engine.number(args.value, shape, common_type(parts))


@function("next_power_of_2", "n")
def _next_power(args: Arguments) -> TileFacts:
    return _folded(args, "next_power_of_2", [args.facts("n")])


def _folded(args: Arguments, name: str, parts: list[TileFacts]) -> TileFacts:
    """A number known when the kernel is compiled, by its own name where it is not known here."""
    folded = fold.function(name, [p.constant for p in parts])
    is_whole = all(p.affine is not None for p in parts)
    return constexpr(folded, args.engine.own_form(args.value, ()) if is_whole else None)


def _python(args: Arguments) -> TileFacts:
    """A Python builtin: of constexprs it is one, of tiles Triton's own."""
    parts = [args.engine.of(v) for v in args.every]
    if args.name == "len" and len(parts) == 1 and parts[0].items is not None:
        return constexpr(Constant(len(parts[0].items)))
    if args.name not in ("min", "max", "abs", "int", "float", "bool") or not parts:
        return UNKNOWN
    if all(p.kind is Kind.CONSTEXPR for p in parts):
        if args.name == "float":
            return constexpr(fold.function("float", [p.constant for p in parts]))
        return _folded(args, args.name, parts)
    if args.name in ("min", "max", "abs"):
        return _combined(args, parts)
    return UNKNOWN


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


@function("cast", "input dtype")
def _cast(args: Arguments) -> TileFacts:
    return cast_to(args.engine, args.value, args.facts("input"), args.dtype("dtype", None))


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
    shape = None if facts.shape is None or axis is None else without(facts.shape, axis)
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
def _kept(args: Arguments) -> TileFacts:
    facts = args.facts("x")
    return args.result(facts, facts.dtype)


@function("topk", "x k dim")
def _topk(args: Arguments) -> TileFacts:
    facts, count = args.facts("x"), dims(args.engine, args.get("k"))
    shape = None if not facts.shape or count is None else (*facts.shape[:-1], count[0])
    return args.engine.number(args.value, shape, facts.dtype)


@function("dot", "input other acc input_precision allow_tf32 max_num_imprecise_acc out_dtype")
def _dot(args: Arguments) -> TileFacts:
    left, right, acc = args.facts("input"), args.facts("other"), args.facts("acc")
    shape = None
    if left.shape and right.shape and len(left.shape) == len(right.shape) >= 2:
        shape = (*left.shape[:-1], right.shape[-1])
    if shape is None and args.get("acc") is not None:
        shape = acc.shape
    return args.engine.number(args.value, shape, _dot_type(args, left, right, acc))


def _dot_type(args: Arguments, left: TileFacts, right: TileFacts, acc: TileFacts) -> str | None:
    operand = left.dtype if left.dtype is not None else right.dtype
    if args.get("acc") is not None and acc.dtype is not None:
        return acc.dtype
    if operand is None:
        return None
    if types.is_int(operand):
        return "i32"
    if operand in ("fp32", "bf16"):
        return "fp32"
    if operand == "fp64":
        return "fp64"
    return args.dtype("out_dtype", "fp32") if args.get("acc") is None else None


@function(
    "dot_scaled",
    "lhs lhs_scale lhs_format rhs rhs_scale rhs_format acc fast_math lhs_k_pack rhs_k_pack"
    " out_dtype",
)
def _dot_scaled(args: Arguments) -> TileFacts:
    left, right = args.facts("lhs"), args.facts("rhs")
    packs = args.flag("lhs_k_pack", True) and args.flag("rhs_k_pack", True)
    shape = None
    if left.shape and right.shape and packs and len(left.shape) == len(right.shape) >= 2:
        shape = (*left.shape[:-1], right.shape[-1])
    return args.engine.number(args.value, shape, args.dtype("out_dtype", "fp32"))


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


_REDUCED = "input axis keep_dims"


@function("sum", "input axis keep_dims dtype")
def _sum(args: Arguments) -> TileFacts:
    facts = args.facts("input")
    own = None if facts.dtype is None else types.summed(facts.dtype)
    return _reduced(args, facts, args.dtype("dtype", own))


@function("max min", "input axis return_indices return_indices_tie_break_left keep_dims")
def _extremum(args: Arguments) -> TileFacts:
    facts = args.facts("input")
    indices = args.flag("return_indices", False)
    if indices is None:
        return UNKNOWN
    if indices:
        values = _reduced(args, facts, facts.dtype)
        return TileFacts(Kind.TUPLE, items=(values, _reduced(args, facts, "i32")))
    return _reduced(args, facts, None if facts.dtype is None else types.extremum(facts.dtype))


@function("argmax argmin", "input axis tie_break_left keep_dims")
def _index(args: Arguments) -> TileFacts:
    return _reduced(args, args.facts("input"), "i32")


@function("xor_sum reduce_or", _REDUCED)
def _xor(args: Arguments) -> TileFacts:
    facts = args.facts("input")
    return _reduced(args, facts, facts.dtype)


@function("reduce", "input axis combine_fn keep_dims")
def _reduce(args: Arguments) -> TileFacts:
    facts = args.facts("input")
    if facts.items is not None:
        return TileFacts(Kind.TUPLE, items=tuple(_reduced(args, i, i.dtype) for i in facts.items))
    return _reduced(args, facts, facts.dtype)


def _reduced(args: Arguments, facts: TileFacts, dtype: str | None) -> TileFacts:
    return args.engine.number(args.value, _reduced_shape(args, facts.shape), dtype)


def _reduced_shape(args: Arguments, shape: Shape | None) -> Shape | None:
    keeps = args.flag("keep_dims", False)
    if keeps is None or shape is None:
        return None
    if args.is_known_none("axis"):
        return (1,) * len(shape) if keeps else ()
    axis = args.number("axis")
    if axis is None or not -len(shape) <= axis < len(shape):
        return None
    if keeps:
        axis %= len(shape)
        return (*shape[:axis], 1, *shape[axis + 1 :])
    return without(shape, axis)


@function("cumsum cumprod", "input axis reverse dtype")
def _scan_sum(args: Arguments) -> TileFacts:
    facts = args.facts("input")
    own = None if facts.dtype is None else types.summed(facts.dtype)
    return args.result(facts, args.dtype("dtype", own))


@function("associative_scan", "input axis combine_fn reverse")
def _scan(args: Arguments) -> TileFacts:
    facts = args.facts("input")
    if facts.items is not None:
        items = tuple(
            settled(TileFacts(item.kind, item.shape, item.dtype), tensor_type(item))
            for item in facts.items
        )
        return TileFacts(Kind.TUPLE, items=items)
    return args.result(facts, facts.dtype)


@function("make_block_ptr", "base shape strides offsets block_shape order")
def _make_block_ptr(args: Arguments) -> TileFacts:
    return block(
        args.engine,
        Kind.BLOCK_POINTER,
        args.get("base"),
        args.get("strides"),
        args.get("block_shape"),
    )


@function("advance", "base offsets")
def _advance(args: Arguments) -> TileFacts:
    return args.facts("base")


@function(
    "make_tensor_descriptor _experimental_make_tensor_descriptor", "base shape strides block_shape"
)
def _make_descriptor(args: Arguments) -> TileFacts:
    return block(
        args.engine, Kind.DESCRIPTOR, args.get("base"), args.get("strides"), args.get("block_shape")
    )


@function("load_tensor_descriptor", "desc offsets")
def _load_descriptor(args: Arguments) -> TileFacts:
    facts = args.facts("desc")
    return element(args.engine, args.value, facts.shape, facts.dtype)


@function("_experimental_descriptor_load", "desc offsets shape dtype")
def _old_descriptor_load(args: Arguments) -> TileFacts:
    shape = dims(args.engine, args.get("shape"))
    return args.engine.number(args.value, shape, args.dtype("dtype", None))


@function(
    "atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_cas atomic_xchg"
    " atomic_load",
    "pointer",
)
def _atomic(args: Arguments) -> TileFacts:
    return loaded(args.engine, args.value, args.facts("pointer"), ())


@function("swizzle2d", "i j size_i size_j size_g")
def _swizzle(args: Arguments) -> TileFacts:
    parts = [args.engine.of(v) for v in args.every]
    dtype = common_type(parts)
    shape = broadcast(p.shape for p in parts)
    kind = Kind.UNKNOWN if shape is None else Kind.TILE if shape else Kind.SCALAR
    return TileFacts(Kind.TUPLE, items=(TileFacts(kind, shape, dtype),) * 2)
