"""Element types by their short names, and what arithmetic on them gives in Triton."""

WEAK = "weak"
"""A Python number: it takes the type of what it meets."""

_NAMED = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8e4nv": "fp8e4nv",
    "float8e4b8": "fp8e4b8",
    "float8e4b15": "fp8e4b15",
    "float8e5": "fp8e5",
    "float8e5b16": "fp8e5b16",
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
_BITS = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "u8": 8,
    "u16": 16,
    "u32": 32,
    "u64": 64,
    "fp8e4nv": 8,
    "fp8e4b8": 8,
    "fp8e4b15": 8,
    "fp8e5": 8,
    "fp8e5b16": 8,
    "fp16": 16,
    "bf16": 16,
    "fp32": 32,
    "fp64": 64,
}
_MAX_I32, _MAX_U32, _MAX_I64 = 1 << 31, 1 << 32, 1 << 63


def named(name: str) -> str | None:
    """The short name of ``float16`` and its like."""
    return _NAMED.get(name)


def spelled(text: str) -> str | None:
    """A type from either of its names: "fp16" and "float16" are "fp16"."""
    return text if text in _BITS else _NAMED.get(text)


def of_signature(text: str) -> str:
    """The short name of a type as a launch signature has it: "*fp16" is "fp16", "u1" is "i1"."""
    inner = text.removeprefix("*").removeprefix("k").removeprefix("const ")
    return "i1" if inner == "u1" else inner


def bits(dtype: str | None) -> int | None:
    """Width of an element; None if it is not known. A pointer has 64."""
    if dtype is not None and dtype.startswith("*"):
        return 64
    return _BITS.get(dtype or "")


def is_float(dtype: str | None) -> bool:
    return dtype is not None and dtype.startswith(("fp", "bf"))


def is_int(dtype: str | None) -> bool:
    """Whether it is an integer type; i1 is one to Triton."""
    return dtype is not None and dtype[0] in "iu" and dtype in _BITS


def is_fp8(dtype: str) -> bool:
    return dtype.startswith("fp8")


def of_number(value: int | float | bool) -> str | None:
    """The type a Python number takes as a tensor."""
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, float):
        return "fp32" if _fits_fp32(value) else "fp64"
    if -_MAX_I32 <= value < _MAX_I32:
        return "i32"
    if _MAX_I32 <= value < _MAX_U32:
        return "u32"
    if -_MAX_I64 <= value < _MAX_I64:
        return "i64"
    return "u64" if 0 <= value < 2 * _MAX_I64 else None


def _fits_fp32(value: float) -> bool:
    size = abs(value)
    return size in (0.0, float("inf")) or value != value or 2**-126 <= size <= (2 - 2**-23) * 2**127


def _rank(dtype: str) -> int:
    """Kinds that a Python number must exceed to count: bool, integer, float."""
    return 2 if is_float(dtype) else 0 if dtype == "i1" else 1


def promote(one: str, two: str, weak: int | None = None, divides: bool = False) -> str | None:
    """The type in which Triton computes on two elements.

    Args:
        one, two: their types.
        weak: 0 or 1 if that one is a Python number, whose type yields to one of the same kind.
        divides: whether it is a division or a modulo, which want at least fp32.
    """
    if weak is not None:
        number, tile = (one, two) if weak == 0 else (two, one)
        if _rank(number) <= _rank(tile):
            one = two = tile
    if not (one in _BITS and two in _BITS):
        return one if one == two and not divides else None
    if "fp64" in (one, two):
        return "fp64"
    if divides and (is_float(one) or is_float(two)):
        return "fp32"
    return _common(one, two)


def _common(one: str, two: str) -> str | None:
    if "fp32" in (one, two):
        return "fp32"
    if "fp16" in (one, two):
        return "fp16"
    if "bf16" in (one, two):
        return "bf16" if one == two else "fp32"
    if is_float(one) and is_float(two):
        return one if one == two else "fp16"
    if is_float(one) or is_float(two):
        return None
    return _integers(one, two)


def _integers(one: str, two: str) -> str:
    a, b = _BITS[one], _BITS[two]
    if one[0] == two[0]:
        return one if a > b else two
    if one[0] == "u":
        return one if a >= b else two
    return two if b >= a else one


def quotient(one: str, two: str, weak: int | None) -> str | None:
    """The type of ``one / two``: integers become fp32."""
    result = promote(one, two, weak, divides=True)
    return "fp32" if is_int(result) else result


def summed(dtype: str) -> str:
    """The type of ``tl.sum`` and ``tl.cumsum``: small integers are widened."""
    if is_int(dtype) and _BITS[dtype] < 32:
        return "u32" if dtype[0] == "u" else "i32"
    return dtype


def extremum(dtype: str) -> str | None:
    """The type of ``tl.max`` and ``tl.min``: below 32 bits they compute in 32."""
    if dtype not in _BITS:
        return None
    if _BITS[dtype] >= 32:
        return dtype
    return "fp32" if is_float(dtype) else "i32"
