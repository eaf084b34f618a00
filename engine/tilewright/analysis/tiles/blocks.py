"""Block pointers, tensor descriptors and atomics."""

from tilewright.analysis.tiles.arguments import Arguments
from tilewright.analysis.tiles.functions import function
from tilewright.analysis.tiles.memory import block, dims, element, loaded
from tilewright.analysis.tiles.model import Kind, TileFacts


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
