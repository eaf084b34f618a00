"""The element type of what two operands give (AWS, NKI language guide, "Type promotion")."""

from collections.abc import Iterable

from tilewright.analysis.nki.affine import Affine
from tilewright.analysis.nki.catalogue import DTYPE_BYTES
from tilewright.analysis.nki.model import View
from tilewright.analysis.nki.values import Literal, Value

FLOATS = frozenset(
    {
        *("float8_e4m3", "float8_e4m3fn", "float8_e5m2"),
        *("float16", "bfloat16", "tfloat32", "float32"),
    }
)
_WIDEST = 4
_NARROWEST = 1


def element_type(value: Value) -> str | None:
    """The type an operand counts as: a Python number is a 32-bit one; None where unknown."""
    match value:
        case View(dtype=dtype):
            return dtype
        case Literal(value=bool()):
            return "uint8"
        case Literal(value=float(), dtype=dtype):
            return "float32" if dtype is None else dtype or None
        case Affine() if value.number is not None:
            return "int32"
    return None


def promoted(kinds: Iterable[str | None]) -> str | None:
    """The type that operands of these types give; None where one is not known."""
    result: str | None = None
    for place, kind in enumerate(kinds):
        if kind is None:
            return None
        result = kind if place == 0 else _pair(str(result), kind)
    return result


def _pair(one: str, two: str) -> str:
    if one == two:
        return one
    floats = [kind for kind in (one, two) if kind in FLOATS]
    if len(floats) == 1:
        return floats[0]
    wider, narrower = sorted((one, two), key=lambda kind: -DTYPE_BYTES[kind])
    if DTYPE_BYTES[wider] != DTYPE_BYTES[narrower]:
        return wider if floats else _whole(wider, narrower)
    if floats:
        return "bfloat16" if DTYPE_BYTES[one] == _NARROWEST else "float32"
    return _whole(wider, narrower)


def _whole(wider: str, narrower: str) -> str:
    """Of integers: a signed type that holds both, fp32 where none does."""
    signed = [kind.startswith("int") for kind in (wider, narrower)]
    if signed[0] is signed[1] or (signed[0] and DTYPE_BYTES[wider] > DTYPE_BYTES[narrower]):
        return wider
    size = DTYPE_BYTES[wider] * 2
    return "float32" if size > _WIDEST else f"int{size * 8}"
