"""Detector of masked lanes that a reduction counts: their value is not its neutral element."""

import ast
from collections.abc import Iterable, Iterator
from enum import Enum

from tilewright.analysis.detectors.common import EXPONENTIALS, TL, exponentials, triton_kernels
from tilewright.analysis.detectors.correctness.divisibility import states_divisibility
from tilewright.analysis.detectors.correctness.lanes import is_filled, masking_terms, reduced_axis
from tilewright.analysis.detectors.correctness.masks import (
    is_sum,
    laid_along,
    terms,
    transposed,
    unexpanded,
    upper_bounds,
)
from tilewright.analysis.detectors.correctness.padded_scores import padded_scores
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.tiles import Kind, Tiles, tiles_of
from tilewright.analysis.values import Access, Flow, Value, values_within, walk
from tilewright.python_syntax import descendants
from tilewright.source.model import Kernel, Module

_SUMS = (TL + "sum",)
_KEEPS_ZERO = tuple(TL + name for name in ("abs", "sqrt", "math.sqrt", "math.abs"))
_SHIFTED = (
    "Lanes past the end are loaded as 0{where}, and arithmetic has changed them before "
    "this sum, which counts each of them: put zeros there with tl.where and the mask."
)
_SCORES = (
    "What is loaded past the end{where} gives scores of 0, and this sum counts their "
    "exponentials: give those scores -inf by tl.where before the maximum."
)
_LOW = -1e4
_LOWER_THAN_MOST = -50.0
"""Its exponential counts for nothing where the maximum of a row is not much below zero."""


class Lane(Enum):
    """What the lanes that a mask leaves out hold."""

    ZERO = "zero"
    LOW = "low"
    UNIFORM = "uniform"
    OFFSET = "offset"
    UNKNOWN = "unknown"


@detector("neutral_element")
def neutral_element(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Lanes past the end that were loaded as zero and are no zero where they are summed."""
    for kernel, flow in triton_kernels(module):
        sums = [(node, value) for node, value, _ in flow.calls(*_SUMS)]
        shifted = _shifted(module, context, kernel, flow, sums)
        found = {node: (load, _SHIFTED) for node, load in shifted}
        for node, load in padded_scores(flow, sums, exponentials(module)):
            found[node] = load, _SCORES
        if found and not states_divisibility(module, kernel) and not _takes_whole_blocks(flow):
            by_result = {a.result: a for a in flow.loads if a.result is not None}
            for node, (load, what) in found.items():
                yield _finding(module, kernel, node, by_result.get(load), what)


def _shifted(
    module: Module,
    context: AnalysisContext,
    kernel: Kernel,
    flow: Flow,
    sums: Iterable[tuple[ast.Call, Value]],
) -> Iterator[tuple[ast.Call, Value]]:
    """Those of lanes that were loaded as zero and that arithmetic has changed, with the load."""
    asked = [(node, value) for node, value in sums if _may_shift(flow, value)]
    unread = _unread(kernel) if asked else set[int]()
    for node, value in asked:
        if id(node) not in unread:
            load = _counted(module, kernel, flow, tiles_of(module, kernel, context), value)
            if load is not None:
                yield node, load


def _takes_whole_blocks(flow: Flow) -> bool:
    """Whether the programs are told apart by a count of whole blocks: ``pid % (n // BLOCK)``."""
    return any(
        value.is_binary("FloorDiv", "Mod")
        and value.operands[0].op == "program_id"
        and value.operands[1].is_binary("FloorDiv")
        for value in flow.values.values()
    )


def _unread(kernel: Kernel) -> set[int]:
    """Nodes of what is assigned to names that nothing reads, or only other such names do."""
    unread = {
        statement: target.id
        for statement in nodes_like(kernel.node, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and len(statement.targets) == 1
        if not _may_write(statement.value)
    }
    while True:
        inside = {id(node) for statement in unread for node in descendants(statement.value)}
        read = {
            node.id
            for node in nodes_like(kernel.node, ast.Name)
            if isinstance(node.ctx, ast.Load) and id(node) not in inside
        }
        left = {statement: name for statement, name in unread.items() if name not in read}
        if len(left) == len(unread):
            return inside
        unread = left


def _may_write(value: ast.expr) -> bool:
    """Whether a value has a call of more than the tile language, or of an atomic."""
    calls = (node.func for node in descendants(value) if isinstance(node, ast.Call))
    return any(isinstance(f, ast.Name) or "atomic" in ast.unparse(f) for f in calls)


def _may_shift(flow: Flow, reduction: Value) -> bool:
    """Whether masked loads are summed, moved by others or as exponentials: what costs little."""
    for added in _added(flow, reduction.positional[0]) if reduction.positional else ():
        parts = list(values_within(added, _is_lane_by_lane))
        is_moved = any(v.is_binary("Sub", "Add") or v.is_call(*EXPONENTIALS) for v in parts)
        if is_moved and any(
            v.op == "dot" or (v.op == "load" and v.keyword("other") is not None) for v in parts
        ):
            return True
    return False


def _finding(
    module: Module, kernel: Kernel, node: ast.Call, load: Access | None, what: str
) -> Finding:
    related = () if load is None else (Related("loaded here", module.index.range_of(load.node)),)
    where = "" if load is None else f" on line {load.node.lineno}"
    text = what.format(where=where)
    return Finding(module.index.range_of(node), text, kernel.name, related=related)


def _counted(
    module: Module, kernel: Kernel, flow: Flow, tiles: Tiles, reduction: Value
) -> Value | None:
    """The load whose masked lanes a sum counts with a value that is not zero."""
    operand = reduction.positional[0]
    shape = tiles.facts_of(operand).shape
    axis = reduced_axis(reduction, shape)
    if shape is None or axis is None:
        return None
    for added in _added(flow, operand):
        for inner in values_within(added, _is_lane_by_lane):
            for load, term in _masked_lanes(inner, axis, len(shape), tiles):
                if _leaves_lanes_out(module, kernel, term) and (
                    _Lanes(term, axis, len(shape), tiles).lane_of(added) is Lane.OFFSET
                ):
                    return load
    return None


def _masked_lanes(
    value: Value, axis: int, rank: int, tiles: Tiles
) -> Iterator[tuple[Value, Value]]:
    """Loads whose lanes are a value's along an axis, each with the terms that leave lanes out."""
    if value.op == "load":
        yield from ((value, term) for term in masking_terms(value, axis, rank, tiles))
    elif value.op == "dot" and rank == 2 and len(value.positional) >= 2:
        operand, turned = transposed(value.positional[axis])
        if operand.op == "load":
            along = 1 - axis if turned else axis
            yield from ((operand, term) for term in masking_terms(operand, along, rank, tiles))


def _added(flow: Flow, operand: Value) -> Iterator[Value]:
    """What is summed: the operand, or what a loop adds to it in each turn."""
    if operand.op != "after" or not operand.operands:
        yield operand
        return
    end = operand.operands[-1]
    if end.is_binary("Add"):
        for one, two in (end.operands, end.operands[::-1]):
            if one.op == "phi" and flow.back_edges.get(one) is end:
                yield two


def _is_lane_by_lane(value: Value) -> bool:
    return value.op in ("binary", "unary", "cast", "expand", "select") or value.is_call(
        *EXPONENTIALS, *_KEEPS_ZERO, TL + "where"
    )


def _leaves_lanes_out(module: Module, kernel: Kernel, term: Value) -> bool:
    """Whether a condition is ``index < bound`` with a bound that is not the tile's own extent."""
    for index, bound in upper_bounds(term):
        extents = [v.operands[1] for v in values_within(index, is_sum) if v.op == "arange"]
        if len(extents) != 1 or extents[0] is bound:
            return False
        if extents[0].op == "const" and bound.op == "const":
            return False
        if _counts_whole_blocks(index, bound):
            return False
        return not is_filled(module, kernel, extents[0], bound)
    return False


def _counts_whole_blocks(index: Value, bound: Value) -> bool:
    """Whether a loop up to this program's block, and not up to the bound, moves an index."""
    loops = [v for v in values_within(index, is_sum) if v.op == "loop_index"]
    stops = [v.operands[1] for v in loops if len(v.operands) == 3]
    return any(
        "program_id" in stop.operations and not any(part is bound for part in walk(stop))
        for stop in stops
    )


class _Lanes:
    """What values hold in the lanes for which one condition of a mask is false."""

    def __init__(
        self, term: Value, axis: int, rank: int, tiles: Tiles, is_strict: bool = False
    ) -> None:
        self._term = term
        self._tiles = tiles
        self._is_strict = is_strict
        self._axis = axis
        self._rank = rank
        self._bare = unexpanded(term)
        self._known: dict[Value, Lane] = {}

    def lane_of(self, value: Value) -> Lane:
        """The class of a value there."""
        known = self._known.get(value)
        if known is None:
            self._known[value] = Lane.UNKNOWN
            known = self._known[value] = self._class(value)
        return known

    def _class(self, value: Value) -> Lane:
        match value.op:
            case "load":
                return self._loaded(value)
            case "const":
                return _number(value)
            case "param" | "global":
                return Lane.UNIFORM
            case "dot":
                return self._product(value)
            case "cast" | "expand":
                return self._shown(value)
            case "unary":
                inner = self.lane_of(value.operands[0])
                return inner if value.detail == "USub" and inner is not Lane.LOW else Lane.UNKNOWN
            case "binary":
                return Lane.ZERO if self._is_asked(value) else self._binary(value)
            case "call":
                return self._call(value)
            case "select":
                return self._chosen(value)
            case _:
                return Lane.ZERO if self._is_asked(value) else self._looped(value)

    def _looped(self, value: Value) -> Lane:
        """A scalar that a loop before has summed up, such as a mean, is the same in all lanes."""
        is_scalar = value.op == "after" and self._tiles.facts_of(value).kind is Kind.SCALAR
        return Lane.UNIFORM if is_scalar else Lane.UNKNOWN

    def _chosen(self, value: Value) -> Lane:
        """One of two values, or one that only masks the other by conditions of another kind.

        ``if CAUSAL: s = tl.where(rows >= columns, s, low)`` leaves the other calls as they were.
        """
        _, one, two = value.operands
        if self._masks_otherwise(one, two):
            return self.lane_of(two)
        lanes = {self.lane_of(one), self.lane_of(two)}
        return lanes.pop() if len(lanes) == 1 else Lane.UNKNOWN

    def _masks_otherwise(self, masked: Value, plain: Value) -> bool:
        if not masked.is_call(TL + "where") or len(masked.positional) != 3:
            return False
        condition, kept, _ = masked.positional
        bounds = {id(bound) for _, bound in upper_bounds(self._term)}
        is_other = not any(id(part) in bounds for part in walk(condition))
        return kept is plain and is_other

    def _shown(self, value: Value) -> Lane:
        """A value in another type, or with added axes: along those it is the same all over."""
        added = str(value.detail).split(",")
        if value.op == "expand" and len(added) == self._rank and added[self._axis] == "None":
            return Lane.UNIFORM
        return Lane.ZERO if self._is_asked(value) else self.lane_of(value.operands[0])

    def _product(self, value: Value) -> Lane:
        """A product's lanes are zero where those of one operand are: they are sums of products."""
        operands = [transposed(operand)[0] for operand in value.positional[:2]]
        is_plain = len(value.positional) == 2
        zero = any(v.op == "load" and self._loaded(v) is Lane.ZERO for v in operands)
        return Lane.ZERO if is_plain and zero else Lane.UNKNOWN

    def _is_asked(self, value: Value) -> bool:
        """Whether a value is the mask's condition, alone or joined with others."""
        asked = (t for t in terms(value.uncast) if unexpanded(t) is self._bare)
        if self._is_strict:
            return any(laid_along(t, self._axis, self._rank) for t in asked)
        return any(True for _ in asked) or self._term in terms(value.uncast)

    def _sums_zeros(self, value: Value) -> bool:
        """Whether a sum along another axis is one of zeros in the lanes asked about."""
        axis = value.argument(1, "axis")
        summed = None if axis is None else axis.detail
        if not value.positional or type(summed) is not int or not 0 <= summed <= self._rank:
            return False
        along = self._axis + (summed <= self._axis)
        before = _Lanes(self._term, along, self._rank + 1, self._tiles, is_strict=True)
        return before.lane_of(value.positional[0]) is Lane.ZERO

    def _loaded(self, load: Value) -> Lane:
        mask = load.keyword("mask")
        if mask is None:
            is_scalar = not any(
                v.op == "arange" for v in values_within(load.operands[0], _is_address)
            )
            return Lane.UNIFORM if is_scalar else Lane.UNKNOWN
        other = load.keyword("other")
        if other is None or not self._is_asked(mask):
            return Lane.UNKNOWN
        return _number(unexpanded(other))

    def _binary(self, value: Value) -> Lane:
        left, right = (self.lane_of(v) for v in value.operands)
        both = {left, right}
        if Lane.UNKNOWN in both and value.detail != "Mult":
            return Lane.UNKNOWN
        match value.detail:
            case "Add" | "Sub":
                return _moved(left, right)
            case "Mult":
                return _scaled(both)
            case "Div":
                return left if left in (Lane.ZERO, Lane.OFFSET, Lane.UNIFORM) else Lane.UNKNOWN
            case "Pow":
                return left if right is Lane.UNIFORM else Lane.UNKNOWN
            case _:
                return Lane.UNIFORM if both == {Lane.UNIFORM} else Lane.UNKNOWN

    def _call(self, value: Value) -> Lane:
        if value.is_call(TL + "where") and len(value.positional) == 3:
            condition, _, two = value.positional
            # What a caller fills these lanes with is chosen for what follows.
            is_given = two.uncast.op in ("param", "global")
            if self._is_asked(condition) and not is_given:
                return self.lane_of(two)
            return Lane.UNKNOWN
        if value.is_call(*_SUMS) and self._sums_zeros(value):
            return Lane.ZERO
        if value.is_call(*_SUMS, TL + "max", TL + "min"):
            return Lane.UNIFORM
        inner = {self.lane_of(v) for v in value.operands}
        if value.is_call(*EXPONENTIALS):
            if inner == {Lane.LOW}:
                return Lane.ZERO
            return Lane.UNKNOWN if Lane.UNKNOWN in inner else Lane.OFFSET
        if value.is_call(*_KEEPS_ZERO) and len(inner) == 1:
            return next(iter(inner))
        return Lane.UNIFORM if inner <= {Lane.UNIFORM, Lane.ZERO} and inner else Lane.UNKNOWN


def _number(value: Value) -> Lane:
    """The class of a literal, and of ``-float("inf")``."""
    if value.op == "unary" and value.detail == "USub":
        inner = value.operands[0]
        is_infinite = inner.op == "call" and inner.detail == "float"
        return Lane.LOW if is_infinite else Lane.UNKNOWN
    if value.op == "call" and value.detail == "float" and value.operands:
        return Lane.LOW if str(value.operands[0].detail).startswith("-inf") else Lane.UNKNOWN
    if value.op != "const" or not isinstance(value.detail, int | float):
        return Lane.UNKNOWN
    if value.detail == 0:
        return Lane.ZERO
    if value.detail <= _LOWER_THAN_MOST:
        return Lane.LOW if value.detail <= _LOW else Lane.UNKNOWN
    return Lane.UNIFORM


def _moved(left: Lane, right: Lane) -> Lane:
    """A sum or a difference."""
    both = {left, right}
    if Lane.LOW in both:
        return Lane.LOW if left is Lane.LOW and right is not Lane.LOW else Lane.UNKNOWN
    if both == {Lane.ZERO}:
        return Lane.ZERO
    return Lane.UNIFORM if both == {Lane.UNIFORM} else Lane.OFFSET


def _scaled(both: set[Lane]) -> Lane:
    """A product: zero makes it zero, whatever the other factor is."""
    if Lane.LOW in both:
        return Lane.UNKNOWN
    if Lane.ZERO in both:
        return Lane.ZERO
    if Lane.UNKNOWN in both:
        return Lane.UNKNOWN
    return Lane.OFFSET if Lane.OFFSET in both else Lane.UNIFORM


def _is_address(value: Value) -> bool:
    return value.op in ("binary", "expand", "cast", "phi", "after")
