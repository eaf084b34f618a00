"""What an expression stands for, from what its parts stand for: one rule a form."""

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tilewright.analysis.nki.model import NOTHING_KNOWN, Fact, Kind, Loop
from tilewright.analysis.nki.state import State

STORED = frozenset({Kind.TILE, Kind.TENSOR, Kind.VIEW, Kind.ARGUMENT})
_VIEWS = frozenset(
    (
        *("reshape", "view", "broadcast_to", "broadcast", "expand_dims", "expand_dim", "ap"),
        *("slice", "select", "permute", "squeeze_dim", "flatten_dims", "reshape_dim"),
        *("rearrange", "reinterpret_cast", "indirect", "vector_select"),
    )
)
_NUMBERS = frozenset({"shape", "dtype", "ndim", "size", "itemsize", "buffer", "strides", "name"})
_AXES = frozenset({"p", "x", "y", "z", "w"})
_BUILTINS = frozenset(
    {"int", "float", "len", "min", "max", "abs", "round", "divmod", "bool", "str"}
)
_IN_HBM = ("nki.language.shared_constant", "nki.language.shared_identity_matrix")
NUMBER = Fact(Kind.NUMBER)


def fact_of(state: State, node: ast.expr) -> Fact:
    """What an expression stands for; its parts have been evaluated."""
    rule = _RULES.get(type(node))
    return NOTHING_KNOWN if rule is None else rule(state, node)


def combined(state: State, node: ast.expr, given: list[Fact]) -> Fact:
    """What arithmetic on values gives."""
    loops = _loops(given)
    kinds = {fact.kind for fact in given}
    if any(fact.is_tile for fact in given):
        return Fact(Kind.TILE, node, path=state.path)
    if Kind.INDEX in kinds:
        shapes = [fact.bare for fact in given if fact.kind is Kind.INDEX]
        grid = any(fact.is_grid for fact in given)
        return Fact(Kind.INDEX, node, loops=loops, bare=all(shapes), is_grid=grid)
    if Kind.MASK in kinds:
        return Fact(Kind.MASK, node, loops=loops)
    if Kind.LOOP in kinds and kinds <= {Kind.LOOP, Kind.NUMBER, Kind.UNKNOWN}:
        return Fact(Kind.LOOP, node, loops=loops)
    return NUMBER if kinds == {Kind.NUMBER} else NOTHING_KNOWN


def item_of(fact: Fact) -> Fact:
    """One of the parts that a value is unpacked into."""
    if fact.kind is Kind.GRID:
        return Fact(Kind.INDEX, fact.node, is_grid=True)
    return NUMBER if fact.kind is Kind.NUMBER else NOTHING_KNOWN


def joined_fact(one: Fact, two: Fact) -> Fact:
    """What holds whichever of two values it is."""
    if one is two:
        return one
    if one.kind is not two.kind or one.kind is Kind.VIEW:
        return NOTHING_KNOWN
    if one.kind is Kind.TENSOR and one.buffer != two.buffer:
        return NOTHING_KNOWN
    path = one.path if len(one.path) <= len(two.path) else two.path
    return Fact(
        one.kind,
        one.node,
        buffer=one.buffer,
        loops=one.loops | two.loops,
        bare=one.bare and two.bare,
        path=path,
    )


def _loops(given: Iterable[Fact]) -> frozenset[Loop]:
    return frozenset().union(*(fact.loops for fact in given))


def _facts(state: State, *nodes: ast.expr | None) -> list[Fact]:
    return [state.flow.fact(node) for node in nodes if node is not None]


def _name(state: State, node: ast.Name) -> Fact:
    binding = state.flow.bound.get(node)
    return NOTHING_KNOWN if binding is None else binding.fact


def _attribute(state: State, node: ast.Attribute) -> Fact:
    base = state.flow.fact(node.value)
    if base.kind in STORED and node.attr in _NUMBERS:
        return NUMBER
    if base.kind is Kind.GRID and node.attr in _AXES:
        return Fact(Kind.INDEX, node, is_grid=True)
    if base.kind in STORED and node.attr == "T":
        return Fact(Kind.TILE, node, path=state.path)
    return NOTHING_KNOWN


def _subscript(state: State, node: ast.Subscript) -> Fact:
    if state.names.resolve(node.value) == "nki.language.mgrid":
        return Fact(Kind.GRID, node)
    base = state.flow.fact(node.value)
    if base.kind is Kind.INDEX:
        return Fact(Kind.INDEX, node, loops=base.loops, is_grid=base.is_grid)
    if base.kind in STORED:
        loops = state.flow.fact(node.slice).loops
        return Fact(Kind.VIEW, node, base=base, loops=loops, path=base.path)
    return NUMBER if base.kind is Kind.NUMBER else NOTHING_KNOWN


def _slice(state: State, node: ast.Slice) -> Fact:
    return Fact(Kind.SLICE, loops=_loops(_facts(state, node.lower, node.upper, node.step)))


def _items(state: State, node: ast.Tuple | ast.List | ast.Set) -> Fact:
    return Fact(Kind.LIST, node, loops=_loops(_facts(state, *node.elts)))


def _unary(state: State, node: ast.UnaryOp) -> Fact:
    operand = state.flow.fact(node.operand)
    if isinstance(node.op, ast.Not):
        return NUMBER if operand.kind is Kind.NUMBER else NOTHING_KNOWN
    return combined(state, node, [operand])


def _logic(state: State, node: ast.BoolOp) -> Fact:
    given = _facts(state, *node.values)
    loops = _loops(given)
    if any(fact.kind in (Kind.MASK, Kind.INDEX) for fact in given):
        return Fact(Kind.MASK, node, loops=loops)
    return Fact(Kind.LOOP, node, loops=loops) if loops else NOTHING_KNOWN


def _compare(state: State, node: ast.Compare) -> Fact:
    if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
        return NUMBER
    fact = combined(state, node, _facts(state, node.left, *node.comparators))
    return Fact(Kind.MASK, node, loops=fact.loops) if fact.kind is Kind.INDEX else fact


def _call(state: State, node: ast.Call) -> Fact:
    dotted = state.dotted(node.func)
    if dotted is None and isinstance(node.func, ast.Attribute):
        owner = state.flow.fact(node.func.value)
        if owner.kind in STORED:
            return _method(state, node, node.func.attr, owner)
    return _function(state, node, dotted)


def _method(state: State, node: ast.Call, name: str, owner: Fact) -> Fact:
    if name in _VIEWS:
        return Fact(Kind.VIEW, node, base=owner, path=owner.path)
    return Fact(Kind.TILE, node, path=state.path) if name == "astype" else NOTHING_KNOWN


def _function(state: State, node: ast.Call, dotted: str | None) -> Fact:
    given = _facts(state, *node.args, *(k.value for k in node.keywords))
    match state.offers.makes(dotted):
        case "tile":
            return Fact(Kind.TILE, node, path=state.path)
        case "tensor":
            return Fact(Kind.TENSOR, node, buffer=_buffer(state, node, dotted), path=state.path)
        case "index":
            return Fact(Kind.INDEX, node, bare=True)
        case "slice":
            return Fact(Kind.SLICE, node, loops=_loops(given[:1]))
        case "number":
            return NUMBER
    if dotted in _BUILTINS and all(f.kind in (Kind.NUMBER, Kind.LOOP) for f in given):
        return Fact(Kind.LOOP, node, loops=_loops(given)) if _loops(given) else NUMBER
    return NOTHING_KNOWN


def _buffer(state: State, node: ast.Call, dotted: str | None) -> str:
    """The buffer of a new tensor: sbuf unless another is named; "" where it is not a name."""
    if dotted in _IN_HBM:
        return "nki.language.hbm"
    given = next((k.value for k in node.keywords if k.arg == "buffer"), None)
    if given is None:
        short = any(k.arg is None for k in node.keywords) or len(node.args) > 2
        return "" if short else "nki.language.sbuf"
    found = state.dotted(given)
    return found if found is not None and found.startswith("nki.language.") else ""


_RULES: Mapping[type[ast.expr], Callable[[State, Any], Fact]] = {
    ast.Constant: lambda state, node: NUMBER,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Tuple: _items,
    ast.List: _items,
    ast.Set: _items,
    ast.BinOp: lambda state, node: combined(state, node, _facts(state, node.left, node.right)),
    ast.UnaryOp: _unary,
    ast.BoolOp: _logic,
    ast.Compare: _compare,
    ast.IfExp: lambda state, node: joined_fact(*_facts(state, node.body, node.orelse)),
    ast.ListComp: lambda state, node: Fact(Kind.LIST, node),
    ast.GeneratorExp: lambda state, node: Fact(Kind.LIST, node),
    ast.SetComp: lambda state, node: Fact(Kind.LIST, node),
    ast.Call: _call,
    ast.NamedExpr: lambda state, node: state.flow.fact(node.value),
}
