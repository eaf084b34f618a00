"""Functions of ``triton.language`` by name: what each returns."""

import re
from collections.abc import Mapping, Sequence

import tilewright.analysis.tiles.calls as blocks
import tilewright.analysis.tiles.elementwise as elementwise
import tilewright.analysis.tiles.fold as fold
import tilewright.analysis.tiles.reductions as reductions
import tilewright.analysis.tiles.reshapes as reshapes
import tilewright.analysis.tiles.types as types
from tilewright.analysis.tiles.arguments import Arguments, bind
from tilewright.analysis.tiles.arithmetic import common_type
from tilewright.analysis.tiles.elementwise import combined, folded
from tilewright.analysis.tiles.engine import UNKNOWN, Engine, constexpr
from tilewright.analysis.tiles.extents import broadcast
from tilewright.analysis.tiles.functions import function, returned
from tilewright.analysis.tiles.members import of_type
from tilewright.analysis.tiles.memory import block, dims, element, loaded
from tilewright.analysis.tiles.model import Constant, Kind, TileFacts
from tilewright.analysis.values import Value

FAMILIES = (blocks, elementwise, reductions, reshapes)
"""Modules that register functions."""
_PREFIX = re.compile(r"^triton\.(language\.)?((math|core|standard|random|extra)\.)?")
_EXTERN = re.compile(r"(^|\.)(libdevice|tl_extra_shim)\.")


def call_facts(
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
    return returned(name, engine, value, positional, keywords)


def method(
    engine: Engine,
    value: Value,
    name: str,
    positional: Sequence[Value],
    keywords: Mapping[str, Value],
) -> TileFacts:
    """What a method of the first operand returns."""
    owner = engine.facts_of(positional[0])
    if owner.kind is Kind.DTYPE:
        return of_type(owner, name)
    if owner.kind is Kind.DESCRIPTOR:
        return _descriptor_method(engine, value, name, owner, positional)
    if name == "gather" and not owner.shape:
        return UNKNOWN  # of a descriptor that the host passes, it reads whole rows
    return returned("cast" if name == "to" else name, engine, value, positional, keywords)


def _descriptor_method(
    engine: Engine, value: Value, name: str, owner: TileFacts, positional: Sequence[Value]
) -> TileFacts:
    if name == "load":
        return element(engine, value, owner.shape, owner.dtype)
    if name == "gather" and owner.shape is not None and len(positional) > 1:
        rows = engine.facts_of(positional[1]).shape
        if rows is not None and len(rows) == 1 and len(owner.shape) == 2:
            return element(engine, value, (rows[0], owner.shape[1]), owner.dtype)
    return UNKNOWN


_PREDICATES = ("is", "finite", "signbit")


def _extern(args: Arguments) -> TileFacts:
    """A function of libdevice: elementwise on floats."""
    parts = [args.engine.facts_of(v) for v in args.every]
    shape = broadcast(p.shape for p in parts)
    dtype = common_type(parts)
    if args.name.startswith(_PREDICATES):
        return TileFacts(Kind.UNKNOWN, shape)
    return args.engine.number(args.value, shape, dtype if types.is_float(dtype) else None)


def _python(args: Arguments) -> TileFacts:
    """A Python builtin: of constexprs it is one, of tiles Triton's own."""
    parts = [args.engine.facts_of(v) for v in args.every]
    if args.name == "len" and len(parts) == 1 and parts[0].items is not None:
        return constexpr(Constant(len(parts[0].items)))
    if args.name not in ("min", "max", "abs", "int", "float", "bool") or not parts:
        return UNKNOWN
    if all(p.kind is Kind.CONSTEXPR for p in parts):
        if args.name == "float":
            return constexpr(fold.function("float", [p.constant for p in parts]))
        return folded(args, args.name, parts)
    if args.name in ("min", "max", "abs"):
        return combined(args, parts)
    return UNKNOWN


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
