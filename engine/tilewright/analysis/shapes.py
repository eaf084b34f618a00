"""Tile shapes: each dimension a value of the kernel (mostly a constexpr) or a number."""

from tilewright.analysis.values import Value

TL = "triton.language."
Dim = Value | int
Shape = tuple[Dim, ...]

_SAME_SHAPE = frozenset(
    TL + name
    for name in (
        *("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "abs", "sigmoid", "sin", "cos", "erf"),
        *("maximum", "minimum", "where", "fma", "clamp", "softmax", "cumsum", "flip", "sort"),
        *("multiple_of", "max_contiguous", "cdiv", "zeros_like"),
    )
)
_REDUCTIONS = frozenset(TL + n for n in ("sum", "max", "min", "argmax", "argmin", "xor_sum"))


def shape_of(value: Value, depth: int = 0) -> Shape | None:
    """The shape of a value in a launched kernel; () for a scalar, None where it is not known."""
    if depth > 60:
        return None
    match value.op:
        case "const" | "param" | "program_id" | "loop_index" | "global":
            return ()
        case "arange":
            start, end = value.operands
            return (_dim(end),) if start.op == "const" and start.detail == 0 else None
        case "load" | "cast" | "phi" | "after" | "unary":
            return shape_of(value.operands[0], depth + 1) if value.operands else None
        case "binary" | "compare" | "bool" | "select":
            return _broadcast(value.operands, depth)
        case "expand":
            return _expand(value, depth)
        case "dot":
            return _dot(value, depth)
        case "attribute":
            inner = shape_of(value.operands[0], depth + 1) if value.detail == "T" else None
            return None if inner is None else inner[::-1]
        case "call":
            return _call(value, depth)
    return None


def _dim(value: Value) -> Dim:
    if value.op == "const" and isinstance(value.detail, int):
        return value.detail
    return value


def _broadcast(values: tuple[Value, ...], depth: int) -> Shape | None:
    result: Shape = ()
    for value in values:
        shape = shape_of(value, depth + 1)
        if shape is None:
            return None
        if len(shape) < len(result):
            shape, result = result, shape
        padded = (1,) * (len(shape) - len(result)) + result
        result = tuple(b if a == 1 else a for a, b in zip(padded, shape, strict=True))
    return result


def _expand(value: Value, depth: int) -> Shape | None:
    inner = shape_of(value.operands[0], depth + 1)
    form = str(value.detail).split(",")
    if inner is None or form.count(":") != len(inner):
        return None
    dims = iter(inner)
    return tuple(next(dims) if part == ":" else 1 for part in form)


def _dot(value: Value, depth: int) -> Shape | None:
    left, right = (shape_of(v, depth + 1) for v in value.operands[:2])
    if left is None or right is None or len(left) != 2 or len(right) != 2:
        return None
    return (left[0], right[1])


def _call(value: Value, depth: int) -> Shape | None:
    if value.is_call(TL + "zeros", TL + "full"):
        shape = value.positional[0] if value.positional else value.keyword("shape")
        if shape is None or shape.op != "tuple":
            return None if shape is None else (_dim(shape),)
        return tuple(_dim(d) for d in shape.operands)
    if value.detail in _SAME_SHAPE:
        return _broadcast(value.positional, depth)
    if value.detail in _REDUCTIONS and value.positional:
        return _reduced(value, depth)
    if value.is_call(TL + "trans") and len(value.operands) == 1:
        inner = shape_of(value.operands[0], depth + 1)
        return None if inner is None else inner[::-1]
    return None


def _reduced(value: Value, depth: int) -> Shape | None:
    inner = shape_of(value.positional[0], depth + 1)
    axis = value.keyword("axis") or (value.positional[1] if len(value.positional) > 1 else None)
    if inner is None or value.keyword("keep_dims") is not None:
        return None
    if axis is None:
        return ()
    if not isinstance(axis.detail, int) or not -len(inner) <= axis.detail < len(inner):
        return None
    place = axis.detail % len(inner)
    return inner[:place] + inner[place + 1 :]
