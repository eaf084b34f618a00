"""Products, reductions and scans."""

import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.arguments import Arguments
from tilewright.analysis.tiles.arithmetic import tensor_type
from tilewright.analysis.tiles.engine import UNKNOWN
from tilewright.analysis.tiles.extents import without_axis
from tilewright.analysis.tiles.functions import function
from tilewright.analysis.tiles.joins import settled
from tilewright.analysis.tiles.model import Kind, Shape, TileFacts


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
    return without_axis(shape, axis)


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
