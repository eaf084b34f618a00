"""Element types of values, as far as casts, constructors and captured launches tell them."""

from collections.abc import Mapping

from tilewright.analysis.bases import pointer_base
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.values import Value

TL = "triton.language."

_SHORT = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "int1": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
}
HALVES = frozenset({"fp16", "bf16"})
WEAK = "weak"
"""A Python number: it takes the type of what it meets."""

_FLOATS = {"fp16": 2, "bf16": 2, "fp32": 4, "fp64": 8}
_INTEGERS = {"i1": 0, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8}
_ELEMENTWISE = frozenset(
    TL + name
    for name in (
        *("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "abs", "sigmoid", "sin", "cos", "erf"),
        *("maximum", "minimum", "where", "fma", "clamp", "softmax", "cumsum", "flip", "sort"),
        *("sum", "max", "min", "trans", "broadcast_to", "expand_dims", "reshape", "view"),
        *("ravel", "multiple_of", "max_contiguous"),
    )
)


def element_types(context: AnalysisContext, kernel: str) -> dict[str, str]:
    """Types of a kernel's parameters on which all captured launches agree: "fp16", "i32".

    A constexpr is ``WEAK``, as the Python number it is.
    """
    seen: dict[str, set[str]] = {}
    for launch in context.launches:
        if launch.kernel == kernel:
            for argument in launch.arguments:
                known = WEAK if argument.type == "constexpr" else argument.type.removeprefix("*")
                seen.setdefault(argument.name, set()).add(known)
    return {name: next(iter(types)) for name, types in seen.items() if len(types) == 1}


def dtype_of(value: Value, types: Mapping[str, str], depth: int = 0) -> str | None:
    """The element type of a value, ``WEAK`` for a Python number, None where it is not known."""
    if depth > 60:
        return None
    match value.op:
        case "const" | "tuple":
            return WEAK
        case "param":
            return types.get(str(value.detail))
        case "program_id" | "arange" | "loop_index":
            return "i32"
        case "load":
            base = pointer_base(value.operands[0])
            return None if base is None else types.get(base)
        case "cast":
            return _cast_type(value, types)
        case "dot":
            return _dot_type(value, types, depth)
        case "expand" | "phi" | "after" | "item":
            return dtype_of(value.operands[0], types, depth + 1) if value.operands else None
        case "binary" | "unary" | "select" | "call":
            return _combined(value, types, depth)
    return None


def _cast_type(value: Value, types: Mapping[str, str]) -> str | None:
    if value.detail is not None:
        return _SHORT.get(str(value.detail))
    return _named_type(value.operands[1], types)


def _named_type(value: Value, types: Mapping[str, str]) -> str | None:
    """A dtype value: ``tl.float32``, ``x_ptr.dtype.element_ty``, ``tile.dtype``."""
    if value.op == "global":
        return _SHORT.get(str(value.detail).removeprefix(TL))
    if value.op == "attribute" and value.detail == "element_ty":
        inner = value.operands[0]
        if inner.op == "attribute" and inner.detail in ("dtype", "type"):
            base = pointer_base(inner.operands[0])
            return None if base is None else types.get(base)
    return None


def _dot_type(value: Value, types: Mapping[str, str], depth: int) -> str | None:
    given = value.keyword("out_dtype")
    if given is not None:
        return _named_type(given, types)
    operand = dtype_of(value.operands[0], types, depth + 1)
    return "i32" if operand == "i8" else "fp32"


def _combined(value: Value, types: Mapping[str, str], depth: int) -> str | None:
    if value.is_call(TL + "zeros", TL + "full"):
        position = 1 if value.detail == TL + "zeros" else 2
        given = value.keyword("dtype")
        if given is None and len(value.positional) > position:
            given = value.positional[position]
        return None if given is None else _named_type(given, types)
    if value.op == "call" and value.detail not in _ELEMENTWISE:
        return None
    parts = value.positional
    if value.op == "select" or value.is_call(TL + "where"):
        parts = parts[1:]
    result: str | None = WEAK
    for part in parts[:1] if _is_reduction(value) else parts:
        result = promote(result, dtype_of(part, types, depth + 1))
    return result


def _is_reduction(value: Value) -> bool:
    return value.is_call(*(TL + n for n in ("sum", "max", "min", "trans", "reshape", "view")))


def promote(one: str | None, two: str | None) -> str | None:
    """The type of an arithmetic result, as Triton promotes tiles."""
    if one is None or two is None:
        return None
    if one in (WEAK, two):
        return two
    if two == WEAK:
        return one
    if one in _FLOATS and two in _FLOATS:
        wide = max(one, two, key=lambda t: _FLOATS[t])
        return "fp32" if _FLOATS[one] == _FLOATS[two] else wide
    if one in _FLOATS or two in _FLOATS:
        return one if one in _FLOATS else two
    if one in _INTEGERS and two in _INTEGERS:
        return max(one, two, key=lambda t: _INTEGERS[t])
    return None
