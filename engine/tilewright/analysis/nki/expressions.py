"""Expressions of an NKI kernel, evaluated over what is known of them."""

import ast

from tilewright.analysis.nki.affine import ONE, ZERO, Affine, Symbol, SymbolKind, opaque, quotient
from tilewright.analysis.nki.catalogue import BUFFERS, CONSTANTS, DTYPE_BYTES, NL
from tilewright.analysis.nki.indexing import FULL, lane, part_of
from tilewright.analysis.nki.model import Comparison, Index, IndexKind, Mask, Origin, View
from tilewright.analysis.nki.state import State
from tilewright.analysis.nki.values import (
    UNKNOWN,
    Array,
    DtypeOf,
    Grid,
    Item,
    Items,
    Literal,
    Many,
    Named,
    ShapeOf,
    Stretch,
    Value,
)
from tilewright.source.constants import ARITHMETIC

_AXES = {"p": 0, "x": 1, "y": 2, "z": 3, "w": 4}
_OPAQUE: dict[type[ast.operator], str] = {
    ast.Mod: "%",
    ast.Div: "/",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}
_FLOATS = frozenset((ast.Add, ast.Sub, ast.Mult, ast.Div))


def size_symbol(name: str, axis: int | None) -> Affine:
    """A number given to the kernel: an argument, or a side of an argument."""
    shown = name if axis is None else f"{name}.shape[{axis}]"
    return Affine.from_value(Symbol(("size", name, axis), SymbolKind.SIZE, shown))


def as_integer(value: Value) -> Affine | None:
    """The integer a value is; an argument that was taken for a tensor may be one."""
    if isinstance(value, Affine):
        return value
    if isinstance(value, Literal) and isinstance(value.value, bool):
        return Affine.from_value(int(value.value))
    if isinstance(value, View) and value.storage.origin is Origin.PARAMETER and value.whole:
        return size_symbol(value.storage.name, None) if value.shape is None else None
    return None


def constant(state: State, node: ast.Constant) -> Value:
    """A literal."""
    value = node.value
    if isinstance(value, int) and not isinstance(value, bool):
        return Affine.from_value(value)
    if value is Ellipsis or isinstance(value, bytes | complex):
        return UNKNOWN
    return Literal(value)


def attribute(node: ast.Attribute, base: Value) -> Value:
    """``base.name`` of a value; dotted names of modules are looked up before."""
    name = node.attr
    if isinstance(base, View):
        return _view_attribute(base, name)
    if isinstance(base, Grid) and name in _AXES and _AXES[name] < len(base.arrays):
        return base.arrays[_AXES[name]]
    return UNKNOWN


def _view_attribute(view: View, name: str) -> Value:
    if name == "shape":
        if view.shape is not None:
            return Items(view.shape)
        if view.storage.origin is Origin.PARAMETER and view.whole:
            return ShapeOf(view.storage.name)
    if name == "dtype":
        return Named(f"{NL}{view.dtype}") if view.dtype else DtypeOf(view.storage)
    if name == "ndim" and view.shape is not None:
        return Affine.from_value(len(view.shape))
    return UNKNOWN


def dotted_value(dotted: str) -> Value:
    """What a dotted name of a module stands for."""
    if dotted in CONSTANTS:
        return Affine.from_value(CONSTANTS[dotted])
    return Named(dotted)


def dtype_name(value: Value) -> str | None:
    """``float32`` of ``nl.float32``, ``np.float32`` or ``"float32"``."""
    if isinstance(value, DtypeOf):
        return value.storage.dtype
    if isinstance(value, Literal) and isinstance(value.value, str):
        return value.value if value.value in DTYPE_BYTES else None
    if isinstance(value, Named):
        last = value.dotted.rpartition(".")[2]
        return last if last in DTYPE_BYTES else None
    return None


def buffer_of(value: Value) -> tuple[object, bool] | None:
    """Memory and whether it is shared, of ``nl.psum`` and the like."""
    return BUFFERS.get(value.dotted) if isinstance(value, Named) else None


def arithmetic(op: ast.operator, left: Value, right: Value) -> Value:
    """Arithmetic on integers and index arrays; UNKNOWN for all else."""
    folded = _folded(op, left, right)
    if folded is not None:
        return folded
    one, two = _array(left), _array(right)
    if one is None or two is None:
        return _list_arithmetic(op, left, right)
    rank = max(one.rank, two.rank)
    value = integer_arithmetic(op, one.value, two.value)
    return Array(value, rank) if rank else value


def _folded(op: ast.operator, left: Value, right: Value) -> Value | None:
    """Arithmetic on numbers that gives a float; None where one is not known or both are whole."""
    one, two = _plain_number(left), _plain_number(right)
    if one is None or two is None:
        return None
    if isinstance(one, int) and isinstance(two, int) and not isinstance(op, ast.Div):
        return None
    kinds = {v.dtype for v in (left, right) if isinstance(v, Literal)}
    dtype = None if not kinds else kinds.pop() if len(kinds) == 1 else ""
    if type(op) not in _FLOATS or (isinstance(op, ast.Div) and two == 0):
        return None
    return Literal(ARITHMETIC[type(op)](one, two), dtype)


def _plain_number(value: Value) -> int | float | None:
    if isinstance(value, Affine):
        return value.number
    if isinstance(value, Literal) and isinstance(value.value, float):
        return value.value
    return None


def _list_arithmetic(op: ast.operator, left: Value, right: Value) -> Value:
    if isinstance(op, ast.Add) and isinstance(left, Items) and isinstance(right, Items):
        return Items(left.values + right.values)
    return UNKNOWN


def _array(value: Value) -> Array | None:
    if isinstance(value, Array):
        return value
    number = as_integer(value)
    return None if number is None else Array(number, 0)


def integer_arithmetic(op: ast.operator, left: Affine, right: Affine) -> Affine:
    """``left op right``; opaque where that is no polynomial."""
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv():
            return quotient(left, right)
    a, b = left.number, right.number
    if isinstance(op, ast.Mod) and a is not None and b:
        return Affine.from_value(a % b)
    if isinstance(op, ast.Pow) and a is not None and b is not None and 0 <= b <= 32:
        return Affine.from_value(int(a**b)) if abs(a) <= 64 else opaque(("**", a, b), f"{a} ** {b}")
    sign = _OPAQUE.get(type(op), type(op).__name__)
    return opaque((sign, left, right), f"(... {sign} ...)", left, right)


def comparison(op: ast.cmpop, left: Value, right: Value) -> Value:
    """A condition on integers: decided, one part of a mask, or UNKNOWN."""
    if isinstance(left, Literal) and isinstance(right, Literal):
        return _literals(op, left, right)
    one, two = _array(left), _array(right)
    if one is None or two is None:
        return UNKNOWN
    difference = one.value - two.value
    match op:
        case ast.Lt():
            part = Comparison(-difference - ONE)
        case ast.LtE():
            part = Comparison(-difference)
        case ast.Gt():
            part = Comparison(difference - ONE)
        case ast.GtE():
            part = Comparison(difference)
        case ast.Eq():
            part = Comparison(difference, equality=True)
        case ast.NotEq() if difference.number is not None:
            return Literal(difference.number != 0)
        case _:
            return UNKNOWN
    return part


def _literals(op: ast.cmpop, left: Literal, right: Literal) -> Value:
    if isinstance(op, ast.Is | ast.Eq):
        return Literal(left.value == right.value)
    if isinstance(op, ast.IsNot | ast.NotEq):
        return Literal(left.value != right.value)
    return UNKNOWN


def truth(state: State, value: Value) -> bool | None:
    """Whether a condition holds; None where that is not known."""
    if isinstance(value, Literal):
        return bool(value.value)
    if isinstance(value, Comparison):
        low, high = value.value.interval(state.flow.known)
        if value.equality:
            if low == high == 0:
                return True
            return False if (low or 0) > 0 or (high is not None and high < 0) else None
        if low is not None and low >= 0:
            return True
        return False if high is not None and high < 0 else None
    number = state.flow.number(value) if isinstance(value, Affine) else None
    return None if number is None else bool(number)


def as_mask(value: Value) -> Mask | None:
    """The mask an argument is; None where there is none."""
    if isinstance(value, Mask):
        return value
    if isinstance(value, Comparison):
        return Mask((value,))
    if isinstance(value, Literal) and value.value in (None, True):
        return None
    return Mask(None)


def both(left: Value, right: Value) -> Value:
    """``left & right`` of masks."""
    one, two = as_mask(left), as_mask(right)
    if one is None or two is None:
        return one or two or UNKNOWN
    if one.parts is None or two.parts is None:
        return Mask(None)
    return Mask(one.parts + two.parts)


def orient(array: Array, pattern: list[ast.expr]) -> Value:
    """``nl.arange(n)[:, None]``: the lanes of a one-dimensional array along one of new axes."""
    slices = [place for place, part in enumerate(pattern) if isinstance(part, ast.Slice)]
    if array.rank != 1 or len(slices) != 1:
        return UNKNOWN
    axis, rank = slices[0], len(pattern)
    moved = {
        s: Affine.from_value(lane(s.extent, axis, rank))
        for s in array.value.symbols
        if s.kind is SymbolKind.LANE and s.extent is not None
    }
    return Array(array.value.substitute(moved), rank)


def run(start: Affine, stop: Affine) -> Array:
    """``nl.arange(start, stop)``."""
    return Array(start + Affine.from_value(lane(stop - start, 0, 1)), 1)


def grid(bounds: list[tuple[Affine, Affine] | None]) -> Value:
    """``nl.mgrid[a:b, c:d]``."""
    if any(bound is None for bound in bounds):
        return UNKNOWN
    known = [bound for bound in bounds if bound is not None]
    return Grid(
        tuple(
            Array(low + Affine.from_value(lane(high - low, axis, len(known))), len(known))
            for axis, (low, high) in enumerate(known)
        )
    )


def stretch(side: Affine | None, low: Value, high: Value, step: Value) -> Item:
    """``low:high:step`` of a dimension of size ``side``."""
    nothing = Literal(None)
    if low == nothing and high == nothing and step == nothing:
        return FULL
    start = ZERO if low == nothing else as_integer(low)
    stop = side if high == nothing else as_integer(high)
    stride = 1 if step == nothing else _number(as_integer(step))
    if start is None or stop is None or not stride or stride < 1:
        return Stretch(None, None)
    size = quotient(stop - start, Affine.from_value(stride), up=True)
    negative = [n for n in (start.number, stop.number) if n is not None and n < 0]
    return Stretch(None, None) if negative else Stretch(start, size, stride)


def _number(value: Affine | None) -> int | None:
    return None if value is None else value.number


def item(value: Value) -> Item:
    """What an index expression that is no slice picks."""
    if isinstance(value, Array | Stretch):
        return value
    number = as_integer(value)
    if number is not None:
        return number
    return Index(IndexKind.UNKNOWN, None)


def pick(state: State, base: Value, items: list[Item], node: ast.AST) -> Value:
    """``base[items]``."""
    if isinstance(base, View):
        return part_of(base, items, node)
    if isinstance(base, Many):
        return base.sample or UNKNOWN
    first = items[0] if len(items) == 1 else None
    number = state.flow.number(first) if isinstance(first, Affine) else None
    if isinstance(base, ShapeOf):
        return UNKNOWN if number is None or number < 0 else size_symbol(base.name, number)
    values: tuple[Value, ...] = ()
    if isinstance(base, Items):
        values = base.values
    elif isinstance(base, Grid):
        values = base.arrays
    if number is not None and -len(values) <= number < len(values):
        return values[number]
    return UNKNOWN


def is_ellipsis(node: ast.expr) -> bool:
    """``...`` in a subscript."""
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def joined(one: Value, two: Value) -> Value:
    """What holds of a name after either of two ways."""
    if one is two or (not isinstance(one, View) and one == two):
        return one
    return UNKNOWN
