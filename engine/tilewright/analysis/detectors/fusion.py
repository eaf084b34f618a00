"""Detectors of the fusion stage: passes over memory that a kernel next to them could do."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.host_code.comparisons import is_comparison
from tilewright.analysis.detectors.host_code.diagnostics import is_diagnostic
from tilewright.analysis.detectors.host_code.facts import (
    graphs,
    graphs_with_wrappers,
    is_elementwise,
    is_loaded_once,
    is_only_reduced_in,
    is_pointwise_in,
    shape_of_another,
    spans_the_problem,
    stated_dtype,
)
from tilewright.analysis.detectors.registry import Reports, detector, kernel_detector
from tilewright.analysis.flow import flow_of
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, Use, UseKind
from tilewright.analysis.host_graph.operations import (
    CONVERSIONS,
    ELEMENTWISE,
    LIKE,
    OPERATORS,
    REDUCTIONS,
    short,
)
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import Shape, tiles_of
from tilewright.analysis.values import Flow, Value, reached
from tilewright.source.model import Kernel, Launch, Module

_FP32 = ("torch.float32", "torch.float")


def _written_buffers(graph: HostGraph) -> Iterator[tuple[HostValue, list[Use], Use]]:
    """Fresh buffers with their uses and the one launch that writes them, by plain stores."""
    for value in graph.values:
        if value.origin is not Origin.ALLOCATED:
            continue
        uses = graph.data_uses(value)
        writes = [u for u in uses if u.role is not None and (u.role.writes or not u.role.is_sure)]
        if len(writes) != 1:
            continue
        role = writes[0].role
        if role is not None and role.is_sure and not role.atomics:
            yield value, uses, writes[0]


def _uses_after(uses: list[Use], write: Use) -> list[Use]:
    return [use for use in uses if use.place.order > write.place.order]


def _straight(write: Use, use: Use) -> bool:
    """Whether a use runs exactly once after each such launch."""
    return use.place.branches == write.place.branches and use.place.loops == write.place.loops


@detector("unfused_kernels", host=True)
def unfused_kernels(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A private buffer between two launches, the second elementwise over it."""
    for _, graph, _ in graphs_with_wrappers(module):
        for value, uses, write in _written_buffers(graph):
            after = _uses_after(uses, write)
            if len(after) != 1 or len(uses) != 2 or not spans_the_problem(value):
                continue
            read = after[0]
            if read.kind is not UseKind.LAUNCH or not _straight(write, read):
                continue
            one, two = write.launch, read.launch
            kernel = None if two is None else module.kernel(two.kernel)
            if one is None or two is None or kernel is None or one.kernel == two.kernel:
                continue
            if not read.role or not read.role.only_reads:
                continue
            if _waits_for_more(graph, value, write, read):
                continue
            if is_pointwise_in(module, kernel, read.parameter or ""):
                how = f"{two.kernel} works element by element on what {one.kernel} has just written"
            elif _is_recomputable(module, one, kernel, read):
                how = (
                    f"{one.kernel} only computes, element by element, what {two.kernel} loads once"
                )
            else:
                continue
            yield Finding(
                two.range,
                f"{how}, in a buffer that nothing else reads: one trip to memory and back, and "
                "one launch, that a common kernel would not make.",
                two.kernel,
                related=(Related("written here", one.range),),
            )


def _is_recomputable(module: Module, one: Launch, reader: Kernel, read: Use) -> bool:
    """Whether the first kernel's arithmetic could follow the second one's load of the buffer."""
    writer = module.kernel(one.kernel)
    return (
        writer is not None
        and is_elementwise(module, writer)
        and is_loaded_once(module, reader, read.parameter or "")
    )


def _waits_for_more(graph: HostGraph, value: HostValue, write: Use, read: Use) -> bool:
    """Whether the second launch reads more that was made since the first began."""
    others = [u for u in graph.uses if u.launch is read.launch and graph.root(u.value) is not value]
    since = write.place.order
    for other in others:
        if other.role is not None and not other.role.reads and other.role.is_sure:
            continue
        root = graph.root(other.value)
        if any(
            use.launch is write.launch or since < use.place.order < read.place.order
            for use in graph.data_uses(root)
            if use.launch is not read.launch and (use.role is None or use.role.writes)
        ):
            return True
    return False


@detector("unfused_elementwise", host=True)
def unfused_elementwise(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A torch operation, element by element, on the result of a launch that nothing else reads."""
    for _, graph, _ in graphs_with_wrappers(module):
        for value, uses, write in _written_buffers(graph):
            after = _uses_after(uses, write)
            if not after or not spans_the_problem(value) or not _straight(write, after[0]):
                continue
            use = after[0]
            what = _elementwise(module, value, use)
            if what is None or write.launch is None or write.role is None or write.role.reads:
                # What a kernel adds to again and again has its result behind the last turn.
                continue
            if use.kind is UseKind.OPERATION and len(after) > 1:
                continue
            if is_comparison(graph, use) or is_diagnostic(module, graph.node, use.node):
                continue
            yield Finding(
                module.index.range_of(use.node),
                f"{what} reads and writes all that {write.launch.kernel} has just written once "
                "more; applied to the tile before its store it costs no memory traffic.",
                write.launch.kernel,
                related=(Related("written here", write.launch.range),),
            )


def _elementwise(module: Module, value: HostValue, use: Use) -> str | None:
    """What a use does to each element; None if it is no elementwise operation."""
    if use.kind is UseKind.IN_PLACE:
        if isinstance(use.node, ast.AugAssign) and type(use.node.op).__name__ in OPERATORS:
            return f"The in-place {type(use.node.op).__name__.lower()}"
        if isinstance(use.node, ast.Call) and isinstance(use.node.func, ast.Attribute):
            name = use.node.func.attr
            return f".{name}()" if name in ELEMENTWISE else None
        return None
    if use.kind is not UseKind.OPERATION or use.result is None:
        return None
    added = _added_in_place(use)
    if added is not None:
        return added
    operation = use.result.operation
    if operation in OPERATORS:
        return "This operator" if operation != "USub" else "The negation"
    name = short(operation)
    if name in CONVERSIONS:
        return f".{name}()" if _narrows(module, value, use) else None
    return f"{name}()" if name in ELEMENTWISE else None


def _added_in_place(use: Use) -> str | None:
    """``other.add_(value)``: what it is called, where it only reads the value."""
    node = use.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    name = node.func.attr
    is_reader = use.result is not None and use.result is not use.value
    return f".{name}()" if is_reader and name in ELEMENTWISE and name.endswith("_") else None


def _narrows(module: Module, value: HostValue, use: Use) -> bool:
    """A conversion of a buffer that was asked for in fp32: surely a pass of its own."""
    node = use.node
    if stated_dtype(module, value) not in _FP32 or not isinstance(node, ast.Call):
        return False
    if short(use.result.operation if use.result else "") != "to":
        return True
    first = node.args[0] if node.args else None
    first = next((k.value for k in node.keywords if k.arg == "dtype"), first)
    if first is None:
        return False
    is_type = isinstance(first, ast.Attribute) and (
        first.attr == "dtype" or (module.names.resolve(first) or "").startswith("torch.")
    )
    return is_type and module.names.resolve(first) not in _FP32


@detector("unfused_reduction", host=True)
def unfused_reduction(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A torch reduction over the whole of a full-size result that nothing else reads."""
    for _, graph, _ in graphs_with_wrappers(module):
        for value, uses, write in _written_buffers(graph):
            after = _uses_after(uses, write)
            if len(after) != 1 or not _is_full_size(value):
                continue
            use = after[0]
            what = _reduction(module, use)
            if what is None or write.launch is None or not _straight(write, use):
                continue
            if _holds_partial_results(module, write) or is_comparison(graph, use):
                continue
            yield Finding(
                module.index.range_of(use.node),
                f"{what} reads back every element that {write.launch.kernel} wrote, and nothing "
                "else does; one partial result per program would leave a small fraction of that "
                "traffic.",
                write.launch.kernel,
                related=(Related("written here", write.launch.range),),
            )


def _stored_shapes(module: Module, write: Use) -> list[Shape | None]:
    """The shapes of the tiles that a launch stores to its parameter; None for an unknown one."""
    kernel = module.kernel(write.launch.kernel) if write.launch is not None else None
    if kernel is None:
        return []
    tiles = tiles_of(module, kernel)
    stores = (a for a in flow_of(module, kernel).writes if a.base == write.parameter)
    return [tiles.facts_of(access.pointer).shape for access in stores]


def _is_full_size(value: HostValue) -> bool:
    """Whether a buffer has an operand's shape, and not that of a buffer of partial results."""
    while value.operation in LIKE and value.sources:  # unfinished text may lack the argument
        if value.sources[0].origin is not Origin.ALLOCATED:
            break
        value = value.sources[0]
    return shape_of_another(value)


def _holds_partial_results(module: Module, write: Use) -> bool:
    """Whether a launch stores what it has reduced: tiles of fewer axes than those it loads."""
    kernel = module.kernel(write.launch.kernel) if write.launch is not None else None
    if kernel is None:
        return False
    flow, tiles = flow_of(module, kernel), tiles_of(module, kernel)
    stored = _stored_shapes(module, write)
    loaded = [shape for a in flow.loads if (shape := tiles.facts_of(a.pointer).shape) is not None]
    rank = max((len(shape) for shape in loaded), default=0)
    return bool(stored) and all(shape is not None and len(shape) < rank for shape in stored)


def _reduction(module: Module, use: Use) -> str | None:
    """What reduces a tensor: a torch operation, or a kernel that keeps nothing else of it."""
    if use.kind is UseKind.OPERATION and use.result is not None:
        name = short(use.result.operation)
        return f"{name}()" if name in REDUCTIONS else None
    kernel = module.kernel(use.launch.kernel) if use.launch is not None else None
    if kernel is None or use.role is None or not use.role.only_reads:
        return None
    return kernel.name if is_only_reduced_in(module, kernel, use.parameter or "") else None


@detector("fusion_noop", host=True)
def fusion_noop(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A buffer that is written and never read, or an operation that changes nothing."""
    for _, graph, launches in graphs(module):
        yield from _dead_outputs(module, graph)
        yield from _identities(module, graph, launches)


def _dead_outputs(module: Module, graph: HostGraph) -> Iterator[Finding]:
    for value in graph.values:
        if value.origin is not Origin.ALLOCATED or value.place.loops:
            continue
        uses = graph.data_uses(value)
        if not uses or any(u.role is None or not u.role.only_writes for u in uses):
            continue
        launch = uses[0].launch
        if launch is None or value.node is None or len({u.launch for u in uses}) != len(uses):
            continue
        yield Finding(
            module.index.range_of(value.node),
            f"{launch.kernel} writes this buffer through {uses[0].parameter}, and nothing reads "
            "or returns it: the stores, the memory and the work behind them are for nothing.",
            launch.kernel,
            related=(Related("written here", launch.range),),
        )


def _identities(module: Module, graph: HostGraph, launches: list[Launch]) -> Iterator[Finding]:
    for value in graph.values:
        node = value.node
        if value.origin is not Origin.COMPUTED or not isinstance(node, ast.BinOp):
            continue
        neutral = {"Mult": 1, "Div": 1, "Pow": 1, "Add": 0, "Sub": 0}.get(value.operation)
        if neutral is None or not _is_number(node.right, neutral):
            continue
        written = graph.root(value.sources[0])
        if any(u.role is not None and u.role.writes for u in graph.data_uses(written)):
            yield Finding(
                module.index.range_of(node),
                "This changes no element, yet it is a pass over the whole result of the launch, "
                "and a new tensor.",
                launches[0].kernel,
            )


def _is_number(node: ast.expr, number: int) -> bool:
    return (
        isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == number
    )


@kernel_detector("fusion_replaces_vendor", triton_kernels)
def fusion_replaces_vendor(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """A matrix product with nothing fused to it: what the vendor's library does best."""
    dot = _plain_product(flow)
    if dot is not None and module.launches_of(kernel.name) and not _is_of_parts(kernel, flow):
        text = (
            f"{kernel.name} is a plain matrix product: nothing but a conversion happens "
            "between the sum and the store, so it competes with the vendor's tuned library "
            "and fuses nothing."
        )
        yield kernel.name_range, text, (Related("the product", module.index.range_of(dot)),)


def _plain_product(flow: Flow) -> ast.Call | None:
    """The only dot, over loaded tiles in a loop, whose sum is stored as it is."""
    dots = list(flow.calls(TL + "dot"))
    stores = flow.writes
    if len(dots) != 1 or len(stores) != 1 or stores[0].kind != "store" or flow.may_write_unknown:
        return None
    node, dot, loops = dots[0]
    if len(flow.loads) != 2 or len(loops) != 1 or stores[0].loops:
        return None
    if len({a.base for a in flow.loads}) != 2 or not _is_sum_of(flow, stores[0].result, dot):
        return None
    return node if all(_is_tile(operand) for operand in dot.positional[:2]) else None


def _is_of_parts(kernel: Kernel, flow: Flow) -> bool:
    """Whether tiles above a diagonal are left out, or the turns of a loop are taken apart into
    several axes, as those of a convolution: a library's product does neither."""
    for node in ast.walk(kernel.node):
        if isinstance(node, ast.If) and any(isinstance(one, ast.Return) for one in node.body):
            test = flow.values.get(node.test)
            axes = {v for v in reached(test, _operands) if v.op == "program_id"} if test else ()
            if len(axes) > 1:
                return True
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            parts = (one for one in ast.walk(node) if isinstance(one, ast.BinOp))
            if any(
                isinstance(one.op, ast.FloorDiv | ast.Mod)
                and isinstance(one.left, ast.Name)
                and one.left.id == node.target.id
                for one in parts
            ):
                return True
    return False


def _operands(value: Value) -> tuple[Value, ...]:
    return value.operands


def _is_tile(value: Value) -> bool:
    """A loaded tile, transposed at most: nothing was computed from it."""
    while value.is_call(TL + "trans") or (value.op == "attribute" and value.detail == "T"):
        value = value.operands[0]
    return value.op == "load"


def _is_sum_of(flow: Flow, stored: Value | None, dot: Value) -> bool:
    if stored is None or stored.uncast.op != "after":
        return False
    end = stored.uncast.operands[-1]
    return end is dot or (end.is_binary("Add") and dot in end.operands)
