"""Detectors of views that the host passes to a kernel which does not know their strides."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.host_code.facts import graphs, launch_uses
from tilewright.analysis.detectors.host_code.view_order import is_in_memory_order
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, Use, UseKind
from tilewright.analysis.host_graph.operations import short
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.source.model import Kernel, Launch, Module

_TURNS = frozenset({"t", "T", "mT", "transpose", "permute", "swapaxes", "swapdims", "movedim"})
_SPREADS = frozenset({"expand", "expand_as", "broadcast_to"})
_OF_LISTS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})


@detector("non_contiguous_input", host=True)
def non_contiguous_input(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A transposed, cut or expanded view for a kernel that is given no strides."""
    for _, graph, _ in graphs(module):
        for use in launch_uses(graph.uses):
            launch, role = use.launch, use.role
            if launch is None or role is None or not (role.reads or role.writes):
                continue
            kernel = module.kernel(launch.kernel)
            view = _foreign(use.value)
            if view is None or kernel is None or knows_strides(graph, kernel, launch, use):
                continue
            if short(view.operation) in _TURNS and _all_alike(graph, launch, use):
                continue
            if is_in_memory_order(module, kernel, launch, use.parameter or "", view):
                continue
            if short(view.operation) in _SPREADS and _may_keep_shape(view):
                continue
            where = module.index.range_of(view.node) if view.node is not None else launch.range
            yield Finding(
                where,
                f"{_what(view)} {kernel.name} gets no strides of it: {use.parameter} addresses "
                "the elements of a dense tensor, which are others.",
                kernel.name,
                related=(Related("passed here", launch.range),),
            )


def _what(view: HostValue) -> str:
    name = short(view.operation)
    if name in _TURNS:
        return f".{name} exchanges strides and moves no element, and"
    if name in _SPREADS:
        return f".{name} sets strides to 0 and copies no element, and"
    return "This slice keeps the strides of the whole tensor, and"


def _may_keep_shape(view: HostValue) -> bool:
    """Whether an expansion is of a list that the caller gives, which may have all the elements."""
    source = view.sources[0] if view.sources else None
    return (
        source is not None
        and source.operation in _OF_LISTS
        and isinstance(source.node, ast.Call)
        and bool(source.node.args)
        and isinstance(source.node.args[0], ast.Name)
    )


def _foreign(value: HostValue) -> HostValue | None:
    """The step that makes a passed view other than dense; None if there is none for sure."""
    while value.origin is Origin.VIEW:
        name = short(value.operation)
        if name in _TURNS | _SPREADS:
            return value
        if name == "[]":
            return value if _cuts(value.node) else None
        if name not in ("detach", "data", "unsqueeze"):
            return None
        value = value.sources[0]
    return None


def _cuts(node: ast.expr | None) -> bool:
    """Whether an index leaves gaps: ``x[:, a:b]``, ``x[:, 0]``, ``x[::2]``; not ``x[a:b]``."""
    if not isinstance(node, ast.Subscript):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    open_axis = False
    for part in parts:
        if isinstance(part, ast.Slice):
            if part.step is not None:
                return True
            is_full = part.lower is None and part.upper is None
            if open_axis and not is_full:
                return True
            open_axis = True
        elif isinstance(part, ast.Constant) and part.value in (None, ...):
            open_axis = open_axis or part.value is ...
        elif open_axis:
            return True
    return False


def knows_strides(graph: HostGraph, kernel: Kernel, launch: Launch, use: Use) -> bool:
    """Whether strides may reach the kernel: by a parameter's name, or asked of the view."""
    if any(
        "stride" in p.name.lower() or p.name.lower().startswith("s_") for p in kernel.parameters
    ):
        return True
    if not launch.is_complete:
        return True
    if any("stride" in ast.unparse(a) for a in launch.arguments.values()):
        return True
    roots = {use.value, graph.root(use.value)}
    return any(
        member.kind is UseKind.SHAPE and _asks_strides(member.node)
        for root in roots
        for member in graph.direct_uses(root)
    )


def _asks_strides(node: ast.expr | ast.stmt) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("stride", "is_contiguous")
    )


def _all_alike(graph: HostGraph, launch: Launch, use: Use) -> bool:
    """Whether every tensor of a launch has the view's order: then the order does not matter."""
    for other in launch_uses(graph.uses):
        if other.launch is not launch or other is use or other.role is None:
            continue
        if not (other.role.reads or other.role.writes):
            continue
        value = other.value
        like_view = value.origin is Origin.ALLOCATED and use.value in value.sources
        if value is not use.value and not like_view:
            return False
    return True
