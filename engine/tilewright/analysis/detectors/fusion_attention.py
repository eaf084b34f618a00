"""Detector of attention whose scores go to memory between two products and a softmax."""

from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, exponentials
from tilewright.analysis.detectors.host_code.facts import graphs_with_wrappers, launch_uses
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.flow import flow_of
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, Use, UseKind
from tilewright.analysis.host_graph.operations import PRODUCTS, short
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.tiles import tiles_of
from tilewright.analysis.values import walk
from tilewright.source.model import Kernel, Launch, Module

_SOFTMAX = frozenset({"softmax", "_softmax"})


@detector("unfused_attention", host=True)
def unfused_attention(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A product, a softmax of it, and a product with that, each with its own pass over memory."""
    for _, graph, _ in graphs_with_wrappers(module):
        for probabilities, scores, launch, node_use in _softmaxes(module, graph):
            before = _made_by_product(module, graph, scores)
            if before is None or not _feeds_product(module, graph, probabilities, node_use):
                continue
            yield Finding(
                launch.range if launch is not None else module.index.range_of(node_use.node),
                "The scores of all queries and keys are written to memory, read for the softmax, "
                "written and read again for the product with the values; a kernel that keeps "
                "them in registers, block by block with a running maximum, moves none of them.",
                launch.kernel if launch is not None else before.kernel,
                related=(Related("the scores are made here", before.range),),
            )


def _softmaxes(
    module: Module, graph: HostGraph
) -> Iterator[tuple[HostValue, HostValue, Launch | None, Use]]:
    """The result and the input of each softmax: of a launch, or of torch between launches."""
    for use in launch_uses(graph.uses):
        kernel = module.kernel(use.launch.kernel) if use.launch is not None else None
        if kernel is None or use.role is None or not use.role.reads:
            continue
        if not _is_softmax(module, kernel):
            continue
        for written in launch_uses(graph.uses):
            if written.launch is use.launch and written.role is not None and written.role.writes:
                yield graph.root(written.value), graph.root(use.value), use.launch, use
    for value in graph.values:
        if value.origin is Origin.COMPUTED and short(value.operation) in _SOFTMAX:
            uses = [u for u in graph.uses if u.result is value]
            if uses and value.sources:
                yield value, graph.root(value.sources[0]), None, uses[0]


def _is_softmax(module: Module, kernel: Kernel) -> bool:
    """Whether a kernel takes a maximum, exponentials and their sum, and makes no product."""
    flow = flow_of(module, kernel)
    return (
        any(True for _ in flow.calls(TL + "max"))
        and any(True for _ in flow.calls(*exponentials(module)))
        and any(True for _ in flow.calls(TL + "sum"))
        and not any(True for _ in flow.calls(TL + "dot"))
    )


def _has_product(module: Module, launch: Launch | None) -> bool:
    kernel = module.kernel(launch.kernel) if launch is not None else None
    return kernel is not None and any(True for _ in flow_of(module, kernel).calls(TL + "dot"))


def _made_by_product(module: Module, graph: HostGraph, scores: HostValue) -> Launch | None:
    """The launch of a product that writes the scores: tiles of queries and keys."""
    for use in graph.data_uses(scores):
        kernel = _kernel_of(module, use)
        if kernel is None or use.role is None or not use.role.writes:
            continue
        tiles = tiles_of(module, kernel)
        stored = [a for a in flow_of(module, kernel).writes if a.base == use.parameter]
        is_whole = any(len(tiles.facts_of(a.pointer).shape or ()) > 1 for a in stored)
        if is_whole and _has_product(module, use.launch):
            return use.launch
    return None


def _kernel_of(module: Module, use: Use) -> Kernel | None:
    return None if use.launch is None else module.kernel(use.launch.kernel)


def _feeds_product(
    module: Module, graph: HostGraph, probabilities: HostValue, softmax: Use
) -> bool:
    """Whether what follows the softmax multiplies its result: a kernel, or torch."""
    for use in graph.data_uses(probabilities):
        if use.place.order <= softmax.place.order:
            continue
        if use.kind is UseKind.OPERATION and use.result is not None:
            return short(use.result.operation) in PRODUCTS
        if use.role is not None and use.role.reads and use.launch is not softmax.launch:
            return _multiplies(module, use)
    return False


def _multiplies(module: Module, use: Use) -> bool:
    """Whether a launch has a product of what it loads through a parameter."""
    kernel = _kernel_of(module, use)
    dots = () if kernel is None else flow_of(module, kernel).calls(TL + "dot")
    return any(
        part.op == "load" and pointer_base(part.operands[0]) == use.parameter
        for _, dot, _ in dots
        for operand in dot.positional[:2]
        for part in walk(operand)
    )
