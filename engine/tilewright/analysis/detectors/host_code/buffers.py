"""Detectors of tensors that the host makes only for a kernel to read them."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import source_of
from tilewright.analysis.detectors.host_code.copies import (
    copied_for,
    filled_by_parts,
    joined_for,
)
from tilewright.analysis.detectors.host_code.facts import (
    asks_dtype,
    graphs,
    graphs_with_wrappers,
    is_loaded_once,
    is_once,
    is_pointwise_in,
    spans_the_problem,
)
from tilewright.analysis.detectors.host_code.host_copies import added_products, repeated_copies
from tilewright.analysis.detectors.host_code.layout import knows_strides
from tilewright.analysis.detectors.host_code.weights import converted_weights
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.flow import flow_of
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, Use, UseKind
from tilewright.analysis.host_graph.operations import ELEMENTWISE, OPERATORS, short
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import tiles_of
from tilewright.source.model import Launch, Module

_FILLED = {"ones": "1", "zeros": "0", "ones_like": "1", "zeros_like": "0"}
_FULL = ("full", "full_like", "new_full")
_FLOATS = frozenset(
    f"torch.{name}" for name in ("float32", "float", "float16", "half", "bfloat16", "float64")
)
_SHORT_CONVERSIONS = frozenset({"float", "half", "bfloat16", "double"})


def _only_read_by_launches(graph: HostGraph, value: HostValue) -> list[Use]:
    """The launches that read a value, where nothing else is done with it; else none."""
    uses = graph.data_uses(value)
    if not all(u.kind is UseKind.LAUNCH and u.role is not None and u.role.only_reads for u in uses):
        return []
    return uses


@detector("unnecessary_materialization", host=True)
def unnecessary_materialization(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A tensor of one number, a broadcast copy, or an elementwise result, made for one launch."""
    for _, graph, launches in graphs(module):
        for value, what in (*repeated_copies(graph), *added_products(graph)):
            if value.node is not None:
                yield Finding(module.index.range_of(value.node), what, launches[0].kernel)
    for _, graph, _ in graphs_with_wrappers(module):
        for value in graph.values:
            if value.node is None or is_once(graph, value.place.branches):
                continue
            if value.origin not in (Origin.ALLOCATED, Origin.COMPUTED):
                continue
            uses = _only_read_by_launches(graph, value) or filled_by_parts(graph, value)
            message = _materialized(module, graph, value, uses) if uses else None
            launch = uses[0].launch if uses else None
            if message is not None and launch is not None:
                yield Finding(
                    module.index.range_of(value.node),
                    message,
                    launch.kernel,
                    related=(Related("read here", launch.range),),
                )


def _materialized(
    module: Module, graph: HostGraph, value: HostValue, uses: list[Use]
) -> str | None:
    name, kernel = short(value.operation), uses[0].launch.kernel if uses[0].launch else ""
    if value.origin is Origin.ALLOCATED:
        number = _filled_with(module, value)
        if number is None and len(uses) == 1 and filled_by_parts(graph, value):
            return joined_for(module, uses[0])
        if number is None or not spans_the_problem(value) or not _reads_tiles(module, uses):
            return None
        if not any(_loads_each_once(module, use) for use in uses):
            return None
        return (
            f"Every element of this tensor is {number}, and {kernel} loads it from memory; the "
            "number itself costs nothing."
        )
    if name == "contiguous" and value.sources and _is_broadcast(value.sources[0]):
        takes_strides = all(_takes_strides(module, graph, use) for use in uses)
        if not takes_strides or not _reads_tiles(module, uses):
            return None
        return (
            f"This writes a broadcast out in full for {kernel} to read; a stride of 0 reads the "
            "small tensor, which stays in cache."
        )
    if len(uses) != 1:
        return None
    copied = copied_for(module, graph, value, uses[0])
    if copied is not None:
        return copied
    if not _is_elementwise(value) or not _pointwise(module, uses[0]):
        return None
    return (
        f"This is computed element by element into memory for {kernel} to read it back once; "
        "done on the tile after its load it costs no memory traffic."
    )


def _loads_each_once(module: Module, use: Use) -> bool:
    """Whether a launch reads a tensor once; what every program reads again stays in cache."""
    kernel = None if use.launch is None else module.kernel(use.launch.kernel)
    return kernel is not None and is_loaded_once(module, kernel, use.parameter or "")


def _takes_strides(module: Module, graph: HostGraph, use: Use) -> bool:
    """Whether the kernel could read the broadcast itself, by the strides it is given."""
    kernel = module.kernel(use.launch.kernel) if use.launch is not None else None
    return (
        kernel is not None
        and use.launch is not None
        and knows_strides(graph, kernel, use.launch, use)
    )


def _filled_with(module: Module, value: HostValue) -> str | None:
    name = short(value.operation).removeprefix("new_")
    if name in _FILLED:
        return _FILLED[name]
    if name in _FULL and isinstance(value.node, ast.Call) and len(value.node.args) > 1:
        return source_of(module, value.node.args[1])
    return None


def _is_broadcast(value: HostValue) -> bool:
    while value.origin is Origin.VIEW:
        if short(value.operation) in ("expand", "expand_as", "broadcast_to"):
            return True
        value = value.sources[0]
    return False


def _is_elementwise(value: HostValue) -> bool:
    return value.operation in OPERATORS or short(value.operation) in ELEMENTWISE


def _pointwise(module: Module, use: Use) -> bool:
    kernel = module.kernel(use.launch.kernel) if use.launch is not None else None
    parameter = use.parameter or ""
    if kernel is None or is_pointwise_in(module, kernel, parameter):
        return kernel is not None
    return is_loaded_once(module, kernel, parameter) and _reads_tiles(module, [use])


def _reads_tiles(module: Module, uses: list[Use]) -> bool:
    """Whether each launch loads more than one number at a time through the parameter."""
    return all(use.launch is not None and _loads_a_tile(module, use.launch, use) for use in uses)


def _loads_a_tile(module: Module, launch: Launch, use: Use) -> bool:
    kernel = module.kernel(launch.kernel)
    if kernel is None:
        return False
    tiles = tiles_of(module, kernel)
    loads = [a for a in flow_of(module, kernel).loads if a.base == use.parameter]
    return any(bool(tiles.facts_of(a.pointer).shape) for a in loads)


@detector("dtype_input_conversion", host=True)
def dtype_input_conversion(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A tensor cast on the host only for a kernel to read it."""
    weights = set()
    for launches, value, weight in converted_weights(module):
        weights.add(value.node)
        assert value.node is not None
        yield Finding(
            module.index.range_of(value.node),
            f"Every call converts {weight} to another type before the launch, though the result "
            "changes only when the weights do.",
            launches[0].kernel,
        )
    for _, graph, _ in graphs_with_wrappers(module):
        for value in graph.values:
            if value.node in weights or not _converts(module, value):
                continue
            branches = value.place.branches
            if is_once(graph, branches) or asks_dtype(graph, branches):
                continue
            yield from _conversion(module, graph, value)


def _conversion(module: Module, graph: HostGraph, value: HostValue) -> Iterator[Finding]:
    uses = _only_read_by_launches(graph, value)
    launch = uses[0].launch if uses else None
    if launch is None or value.node is None or not _reads_tiles(module, uses):
        return
    yield Finding(
        module.index.range_of(value.node),
        f"Unless it has that type already, this writes a converted copy of the whole tensor for "
        f"{launch.kernel} to read; the kernel can convert each tile as it loads it.",
        launch.kernel,
        related=(Related("read here", launch.range),),
    )


def _base_tensor(value: HostValue) -> HostValue:
    """What a tensor was before views and copies that change no element."""
    while value.sources and (
        value.origin is Origin.VIEW or short(value.operation) in ("contiguous", "clone")
    ):
        value = value.sources[0]
    return value


def _converts(module: Module, value: HostValue) -> bool:
    """``x.float()``, ``x.to(torch.float32)``: of a tensor that was there before."""
    node = value.node
    if value.origin is not Origin.COMPUTED or not isinstance(node, ast.Call) or not value.sources:
        return False
    if _base_tensor(value.sources[0]).origin not in (Origin.PARAMETER, Origin.ATTRIBUTE):
        return False
    name = short(value.operation)
    if name in _SHORT_CONVERSIONS:
        return not node.args
    if name != "to":
        return False
    given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "dtype")]
    return any(module.names.resolve(g) in _FLOATS for g in given)
