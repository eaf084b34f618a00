"""Copies that a host loop repeats, and sums that the host adds in a pass of its own."""

import ast
from collections.abc import Iterator

from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, UseKind
from tilewright.analysis.host_graph.operations import CONVERSIONS, PRODUCTS, short

_COPIES = CONVERSIONS | {"contiguous", "clone", "cat", "stack", "repeat", "repeat_interleave"}
_JOINS = frozenset({"cat", "concat", "concatenate"})


def repeated_copies(graph: HostGraph) -> Iterator[tuple[HostValue, str]]:
    """Copies that each turn of a host loop makes again, or that grow with each turn."""
    for value in graph.values:
        if value.origin is not Origin.COMPUTED or not value.place.loops or value.node is None:
            continue
        name = short(value.operation)
        if name in _JOINS and _grows(graph, value):
            yield (
                value,
                "Each iteration of the loop copies all that the iterations before have joined, "
                "to add its part behind it; parts in a list that is joined once, or slices of "
                "one buffer, copy each element once.",
            )
        elif name in _COPIES and _is_same_each_turn(graph, value):
            yield (
                value,
                "Each iteration of the loop makes this copy again, of what no iteration changes; "
                "before the loop it is made once.",
            )


def _grows(graph: HostGraph, value: HostValue) -> bool:
    """``out = torch.cat([out, part])``."""
    assert isinstance(value.node, ast.Call)
    given = {n.id for a in value.node.args[:1] for n in ast.walk(a) if isinstance(n, ast.Name)}
    return any(value in graph.names.get(name, ()) for name in given)


def _is_same_each_turn(graph: HostGraph, value: HostValue) -> bool:
    """Whether all that a copy is made of was there before the loop, and stays as it is."""
    loop = value.place.loops[-1]
    roots = [graph.root(source) for source in value.sources if not source.is_number]
    tensors = [r for r in roots if r.origin is not Origin.UNKNOWN]
    if not tensors or any(not _is_from_before(source, loop) for source in value.sources):
        return False
    if value.place.branches and _is_guarded(graph, value):
        return False
    return not any(
        loop in use.place.loops
        and (use.kind in (UseKind.IN_PLACE, UseKind.ESCAPE) or _is_written(use.role))
        for root in (*tensors, value)
        for use in graph.data_uses(root)
    )


def _is_guarded(graph: HostGraph, value: HostValue) -> bool:
    """Whether it stands in a conditional, which may be taken in one turn alone."""
    return any(branch in graph.guards for branch in value.place.branches)


def _is_written(role: object) -> bool:
    return role is not None and not getattr(role, "only_reads", False)


def _is_from_before(value: HostValue, loop: int, depth: int = 0) -> bool:
    """Whether a value, and what views show it, was made before a loop."""
    if value.is_number:
        # An index may be the loop's own.
        return value.node is None or isinstance(value.node, ast.Constant | ast.Attribute)
    if value.origin is Origin.UNKNOWN:
        return value.operation.startswith("torch.")
    if value.origin is Origin.VIEW and depth < 8:
        if not isinstance(value.node, ast.Attribute | ast.Call):
            return False
        names = {n.id for n in ast.walk(value.node) if isinstance(n, ast.Name)}
        return len(names) <= 1 and _is_from_before(value.sources[0], loop, depth + 1)
    return value.origin is not Origin.JOINED and loop not in value.place.loops


def added_products(graph: HostGraph) -> Iterator[tuple[HostValue, str]]:
    """``total += (a @ b).float()``: a product that is written out only to be added."""
    for use in graph.uses:
        is_sum = isinstance(use.node, ast.AugAssign) and isinstance(use.node.op, ast.Add)
        if use.kind is not UseKind.OPERATION or not is_sum:
            continue
        value = use.value
        while short(value.operation) in CONVERSIONS and len(graph.data_uses(value)) == 1:
            value = value.sources[0]
        is_product = value.origin is Origin.COMPUTED and short(value.operation) in PRODUCTS
        if is_product and value.node is not None and len(graph.data_uses(value)) == 1:
            yield (
                value,
                "The product goes to memory, and a further pass reads it to add it to what is "
                "there; addmm with out= (or addmm_, baddbmm_) adds while it computes.",
            )
