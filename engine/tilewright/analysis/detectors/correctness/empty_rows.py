"""Detector of running maxima that may stay at minus infinity, and are then subtracted."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, exponentials, triton_kernels
from tilewright.analysis.detectors.correctness.masks import unexpanded
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Flow, Value, reached, walk
from tilewright.source.model import Kernel, Module

_GREATEST = (TL + "max", TL + "maximum")


@detector("empty_row_nan")
def empty_row_nan(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``exp(s - m)`` with scores and a maximum that are both -inf where a row is masked whole."""
    for kernel, flow in triton_kernels(module):
        for node, value, loops in flow.calls(*exponentials(module)):
            exponent = unexpanded(value.positional[0]) if value.positional else value
            if not loops or not exponent.is_binary("Sub"):
                continue
            scores, greatest = exponent.operands
            where = _masked_by_data(scores)
            if where is None or not _starts_at_minus_infinity(flow, unexpanded(greatest), where):
                continue
            if _is_guarded(flow, unexpanded(greatest), value) or _is_asked_first(kernel, node):
                continue
            yield Finding(
                module.index.range_of(node),
                "Where the loaded mask leaves out a row's whole block before any other, scores and "
                "their running maximum are both -inf, and -inf - -inf is NaN for the row.",
                kernel.name,
                related=_places(module, flow, where),
            )
            break


def _is_asked_first(kernel: Kernel, node: ast.Call) -> bool:
    """Whether a condition on something computed decides if the line runs."""
    return any(
        chosen.lineno <= node.lineno <= (chosen.end_lineno or chosen.lineno)
        and any(isinstance(part, ast.Call) for part in ast.walk(chosen.test))
        for chosen in nodes_like(kernel.node, ast.If)
    )


def _places(module: Module, flow: Flow, where: Value) -> tuple[Related, ...]:
    nodes = [node for node, value, _ in flow.placed if value is where]
    return tuple(Related("masked here", module.index.range_of(node)) for node in nodes[:1])


def _masked_by_data(scores: Value) -> Value | None:
    """The ``where(mask, scores, -inf)`` among scores whose mask was loaded, element by element."""
    pending, seen = [scores], set[int]()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if value.is_call(TL + "where") and len(value.positional) == 3:
            condition, inside, outside = value.positional
            is_loaded = any(_is_tile_load(part) for part in walk(condition))
            if _is_minus_infinity(outside) and is_loaded:
                return value
            pending.append(inside)
        elif value.op in ("cast", "expand") or value.is_binary("Add", "Sub", "Mult"):
            pending.extend(value.operands)
    return None


def _is_tile_load(value: Value) -> bool:
    return value.op == "load" and "arange" in value.operands[0].operations


def _starts_at_minus_infinity(flow: Flow, greatest: Value, where: Value) -> bool:
    """Whether it is the greater of scores and what a loop carries from -inf on."""
    if not greatest.is_call(*_GREATEST):
        return False
    parts = [unexpanded(part) for part in greatest.positional]
    starts = [p.operands[0] for p in parts if p.op == "phi" and p.operands]
    from_scores = any(where in walk(part) for part in parts if part.op != "phi")
    return from_scores and any(_begins_low(start) for start in starts)


def _begins_low(value: Value) -> bool:
    """A tile of -inf."""
    if value.is_call(TL + "full") and len(value.positional) > 1:
        return _is_minus_infinity(value.positional[1])
    if value.is_call(TL + "full"):
        given = value.keyword("value")
        return given is not None and _is_minus_infinity(given)
    if value.is_binary("Add", "Sub"):
        left, right = value.operands
        if left.is_call(TL + "zeros"):
            sign = value.detail == "Sub"
            return _is_infinity(right) if sign else _is_minus_infinity(right)
    return _is_minus_infinity(value)


def _is_minus_infinity(value: Value) -> bool:
    value = unexpanded(value)
    if value.op == "unary" and value.detail == "USub":
        return _is_infinity(value.operands[0])
    if value.op == "call" and value.detail == "float" and value.operands:
        return str(value.operands[0].detail) == "-inf"
    return value.op == "global" and str(value.detail).lower().endswith(("neg_inf", "minus_inf"))


def _is_infinity(value: Value) -> bool:
    if value.op == "call" and value.detail == "float" and value.operands:
        return str(value.operands[0].detail) == "inf"
    return value.op == "global" and str(value.detail) in ("math.inf", "torch.inf", "float.inf")


def _is_guarded(flow: Flow, greatest: Value, exponential: Value) -> bool:
    """Whether the kernel asks anything of the maximum, or chooses behind the exponential."""
    family = set(reached(greatest, lambda v: _carriers(flow, v)))
    for value in {*flow.values.values()}:
        if value.op == "compare" and family & {unexpanded(v) for v in value.operands}:
            return True
        if value.is_call(TL + "where") and exponential in walk(value):
            return True
        if value.op == "compare" and str(value.detail) in ("NotEq", "Eq"):
            one, two = value.operands
            if one is two:
                return True
    return False


def _carriers(flow: Flow, value: Value) -> list[Value]:
    """Names that hold a value in the next turn of a loop, or behind it."""
    found = [phi for phi, end in flow.back_edges.items() if end is value]
    return found + [v for v in flow.values.values() if v.op == "after" and value in v.operands]
