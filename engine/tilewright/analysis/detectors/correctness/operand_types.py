"""Operands of a type, or with a number of axes, that the tile language does not take."""

import ast
from collections.abc import Callable, Iterator
from functools import cached_property

from tilewright.analysis.detectors.correctness.language import language_name
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.tiles import Kind, Tiles
from tilewright.analysis.values import Flow, Value
from tilewright.source.model import Kernel, Module

_REDUCTIONS = {"max": "maximum", "min": "minimum", "sum": "", "argmax": "", "argmin": ""}
"""Functions of a tile and an axis, with those of two tiles that may be meant."""
_OF_FLOATS = frozenset(("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos"))
_ELEMENT_TYPES = frozenset(
    (
        *("float16", "float32", "float64", "bfloat16", "int1", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64"),
    )
)
_OF_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_WITH_TYPES = frozenset(("cast", "const", "arange", "program_id", "loop_index", "load", "param"))
_AXES = 3
_DEEPEST = 100


def refused_operands(
    module: Module, kernel: Kernel, flow: Flow, tiles: Tiles, is_tensor: Callable[[Value], bool]
) -> Iterator[tuple[ast.expr, str]]:
    """Calls and operators whose operands are surely not what they take.

    Args:
        is_tensor: whether a value is one of Triton's tensors, known at run time only.
    """
    typed = _Typed(flow, tiles)
    for call in nodes_like(kernel.node, ast.Call):
        name = _function(module, call)
        if name in _ELEMENT_TYPES:
            yield call, f"call of tl.{name}, which is a type (write a literal, or cast by .to)"
        elif name is not None:
            yield from ((call, what) for what in _of_call(typed, call, name, is_tensor))
    for node in nodes_like(kernel.node, ast.BinOp):
        what = _of_operator(typed, node)
        if what is not None:
            yield node, what


def _function(module: Module, call: ast.Call) -> str | None:
    """The name of the language's function that is called, or ``range``."""
    if isinstance(call.func, ast.Name) and call.func.id == "range":
        return "range"
    return language_name(call.func, module.names)


class _Typed:
    """What is known of the expressions of a kernel."""

    def __init__(self, flow: Flow, tiles: Tiles) -> None:
        self._flow, self._tiles = flow, tiles
        self._settled: dict[Value, bool] = {}

    @cached_property
    def _extents(self) -> frozenset[Value]:
        """What ``tl.arange`` ends at."""
        aranges = (value for value in self._flow.values.values() if value.op == "arange")
        return frozenset(operand for value in aranges for operand in value.operands)

    def value(self, node: ast.expr) -> Value | None:
        return self._flow.values.get(node)

    def is_pointer(self, node: ast.expr) -> bool:
        value = self.value(node)
        return value is not None and self._tiles.facts_of(value).kind is Kind.POINTER

    def rank(self, node: ast.expr) -> int | None:
        """The number of a tile's axes."""
        value = self.value(node)
        facts = None if value is None else self._tiles.facts_of(value)
        is_tile = facts is not None and facts.kind in (Kind.TILE, Kind.MASK)
        return len(facts.shape) if facts is not None and is_tile and facts.shape else None

    def is_float(self, node: ast.expr) -> bool:
        return self._element(node).startswith(("fp", "bf"))

    def is_integer(self, node: ast.expr) -> bool:
        return self._element(node).startswith(("i", "u"))

    def _element(self, node: ast.expr) -> str:
        """The element type of a tile or of a number that is known at run time; "" if unknown."""
        value = self.value(node)
        if value is None or not self._is_settled(value):
            return ""
        facts = self._tiles.facts_of(value)
        return facts.dtype or "" if facts.kind in (Kind.TILE, Kind.SCALAR) else ""

    def _is_settled(self, value: Value, depth: int = 0) -> bool:
        """Whether a type follows from casts, literals and arithmetic, and from no function."""
        if value.op not in ("binary", "unary", "expand") or depth > _DEEPEST:
            return value.op in _WITH_TYPES
        known = self._settled.get(value)
        if known is None:
            known = all(self._is_settled(operand, depth + 1) for operand in value.operands)
            self._settled[value] = known
        return known

    def is_quotient(self, node: ast.expr) -> bool:
        """Whether it is ``a / b``, which is a float whatever the two are."""
        value = self.value(node)
        return value is not None and value.is_binary("Div")

    def is_number(self, node: ast.expr) -> bool:
        """Whether it is one integer for sure: also an extent of ``tl.arange``, or a product."""
        value = self.value(node)
        if value is None or isinstance(node, ast.Tuple | ast.List):
            return False
        is_literal = value.op == "const" and isinstance(value.detail, int)
        is_extent = value.op == "param" and value in self._extents
        is_repeated = any(operand.op == "tuple" for operand in value.operands)
        return is_literal or is_extent or (value.is_binary("Mult", "FloorDiv") and not is_repeated)


def _of_call(
    typed: _Typed, call: ast.Call, name: str, is_tensor: Callable[[Value], bool]
) -> Iterator[str]:
    named = [keyword.value for keyword in call.keywords if keyword.arg == "axis"]
    first = next(iter((*call.args, *named)), None)
    if first is None:
        return
    if name in ("program_id", "num_programs"):
        axis = _integer(first)
        if axis is not None and not 0 <= axis < _AXES:
            yield f"axis {axis} of tl.{name}, as a grid has three axes,"
    elif name in _REDUCTIONS:
        yield from _of_reduction(typed, call, name, is_tensor)
    elif name in ("zeros", "full") and typed.is_number(first):
        yield f"number as the shape of tl.{name} (write a tuple: ({ast.unparse(first)},))"
    elif name.removeprefix("math.") in _OF_FLOATS and typed.is_integer(first):
        yield f"integers in tl.{name} (cast them to a float)"
    elif name == "trans" and len(call.args) == 1 and typed.rank(first) == 1:
        yield "tl.trans of a tile with one axis"
    elif name == "dot" and 1 in map(typed.rank, call.args[:2]):
        yield "tl.dot of a tile with one axis"
    elif name in ("range", "arange", "static_range") and any(map(typed.is_quotient, call.args)):
        yield "quotient by / as a bound, which is a float (use //),"


def _of_reduction(
    typed: _Typed, call: ast.Call, name: str, is_tensor: Callable[[Value], bool]
) -> Iterator[str]:
    named = [keyword.value for keyword in call.keywords if keyword.arg == "axis"]
    given = next(iter((*call.args[1:2], *named)), None)
    value = None if given is None else typed.value(given)
    if given is None or value is None:
        return
    other = _REDUCTIONS[name]
    is_float = value.op == "const" and isinstance(value.detail, float)
    if is_float or is_tensor(value):
        yield f"tl.{name} of two values" + (f" (tl.{other} takes two)" if other else "")
        return
    axis, rank = _integer(given), typed.rank(call.args[0])
    if axis is not None and rank is not None and not -rank <= axis < rank:
        yield f"axis {axis} in tl.{name} of a tile with {rank} {'axis' if rank == 1 else 'axes'}"


def _of_operator(typed: _Typed, node: ast.BinOp) -> str | None:
    sides = (node.left, node.right)
    if isinstance(node.op, _OF_BITS) and any(map(typed.is_float, sides)):
        return "bitwise operator on floats"
    if isinstance(node.op, ast.Add | ast.Sub):
        for pointer, other in (sides, sides[::-1]):
            is_float = typed.is_quotient(other) or typed.is_float(other)
            if is_float and typed.is_pointer(pointer):
                return "float as an offset of a pointer (use //, or cast it to an integer)"
    return None


def _integer(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None
