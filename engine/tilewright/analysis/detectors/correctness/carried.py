"""Detector of names that change their type from one iteration of a loop to the next."""

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.dtypes import WEAK, promote
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import Dim, Kind, Shape, Tiles, tiles_of
from tilewright.analysis.values import Definition, Flow, Value, walk
from tilewright.source.model import Kernel, Module

_SETTLED = frozenset(("const", "call", "load", "arange", "binary", "cast", "dot", "program_id"))
_LANE_BY_LANE = frozenset(TL + name for name in ("maximum", "minimum"))
_MAX_DEPTH = 30


@dataclass(frozen=True)
class _Type:
    """Shape and element type of a value; None for what is not known."""

    shape: Shape | None
    dtype: str | None


@detector("loop_carried_type_change")
def loop_carried_type_change(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A name that enters a loop as one type and leaves its body as another."""
    for kernel, flow in triton_kernels(module):
        if not flow.back_edges:
            continue
        tiles = tiles_of(module, kernel, context)
        for phi, end in flow.back_edges.items():
            number, _, name = str(phi.detail).partition(":")
            if not phi.operands or flow.loops[int(number)].is_static:
                continue
            start = _start(tiles, phi.operands[0])
            after = None if start is None else _carried(tiles, end, phi, start)
            if start is not None and after is not None and _differ(start, after):
                set_at = _definition(flow, name, end)
                if set_at is not None:
                    yield _finding(module, kernel, flow, set_at, (start, after), phi)


def _start(tiles: Tiles, value: Value) -> _Type | None:
    """What a name is before the loop; a number given to a name is one of 32 bits."""
    if value.op not in _SETTLED or tiles.facts_of(value).kind is Kind.POINTER:
        return None
    if not value.operations.isdisjoint(("select", "opaque")):
        return None
    if value.op == "const":
        match value.detail:
            case bool():
                return _Type((), "i1")
            case int():
                return _Type((), "i32") if abs(value.detail) < 2**31 else None
            case float():
                return _Type((), "fp32")
        return None
    facts = tiles.facts_of(value)
    return _Type(facts.shape, None if facts.dtype == WEAK else facts.dtype)


def _carried(tiles: Tiles, value: Value, phi: Value, start: _Type, depth: int = 0) -> _Type | None:
    """The type of a value of the body in the first turn."""
    if value is phi:
        return start
    if depth > _MAX_DEPTH:
        return None
    if "phi" not in value.operations or phi not in walk(value):
        if not value.operations.isdisjoint(("select", "opaque", "phi", "after")):
            return None
        facts = tiles.facts_of(value)
        return _Type(facts.shape, facts.dtype)
    if value.is_binary("Add", "Sub", "Mult") or (value.op == "call" and _is_lane_by_lane(value)):
        parts = [_carried(tiles, v, phi, start, depth + 1) for v in value.positional[:2]]
        return _combined(parts[0], parts[1])
    if value.op == "cast":
        inner = _carried(tiles, value.operands[0], phi, start, depth + 1)
        return None if inner is None else _Type(inner.shape, tiles.facts_of(value).dtype)
    return None


def _is_lane_by_lane(value: Value) -> bool:
    return value.detail in _LANE_BY_LANE and len(value.positional) == 2


def _combined(one: _Type | None, two: _Type | None) -> _Type | None:
    if one is None or two is None:
        return None
    return _Type(_broadcast(one.shape, two.shape), _promoted(one, two))


def _promoted(one: _Type, two: _Type) -> str | None:
    """The type of a result; between a tile and a number it follows rules of its own."""
    if one.shape == () or two.shape == ():
        first, second = one.dtype, two.dtype
        both_known = first is not None and second is not None
        return (
            promote(first, second)
            if both_known and (first or "")[0] != (second or "")[0]
            else (first if first == second else None)
        )
    return promote(one.dtype, two.dtype)


def _broadcast(one: Shape | None, two: Shape | None) -> Shape | None:
    if one is None or two is None:
        return None
    short, long = sorted((one, two), key=len)
    padded = (1,) * (len(long) - len(short)) + short
    return tuple(b if a == 1 else a for a, b in zip(padded, long, strict=True))


def _differ(one: _Type, two: _Type) -> bool:
    if one.shape is not None and two.shape is not None:
        if len(one.shape) != len(two.shape):
            return True
        if any(_is_other(a, b) for a, b in zip(one.shape, two.shape, strict=True)):
            return True
    known = one.dtype is not None and two.dtype not in (None, WEAK)
    return known and one.dtype != two.dtype


def _is_other(before: Dim, after: Dim) -> bool:
    """Whether an extent changes; one that launches set is taken to be more than one lane."""
    if isinstance(before, int):
        return before != after if isinstance(after, int) else before == 1
    return False


def _definition(flow: Flow, name: str, end: Value) -> Definition | None:
    return next((d for d in flow.definitions.get(name, ()) if d.value is end), None)


def _finding(
    module: Module,
    kernel: Kernel,
    flow: Flow,
    set_at: Definition,
    types: tuple[_Type, _Type],
    phi: Value,
) -> Finding:
    before = [d for d in flow.definitions[set_at.name] if d.value is phi.operands[0]]
    return Finding(
        module.index.range_of(set_at.statement),
        f"{set_at.name} enters the loop as {_text(types[0])} and becomes {_text(types[1])}: a name "
        "keeps its type through a loop, and this does not compile.",
        kernel.name,
        related=tuple(
            Related("set here first", module.index.range_of(d.statement)) for d in before[-1:]
        ),
    )


def _text(kind: _Type) -> str:
    element = "" if kind.dtype in (None, WEAK) else f" of {kind.dtype}"
    if kind.shape is None:
        return f"a value{element}"
    if not kind.shape:
        return f"one number{element}"
    extents = " x ".join(_extent(d) for d in kind.shape)
    return f"a tile {extents}{element}" if len(kind.shape) > 1 else f"{extents} values{element}"


def _extent(extent: Dim) -> str:
    if isinstance(extent, int):
        return str(extent)
    return str(extent.detail) if extent.op in ("param", "const") else "?"
