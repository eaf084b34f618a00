"""Detectors of work on a module's weights that every forward call repeats."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.host_code.facts import graphs, is_once, launch_uses
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, UseKind
from tilewright.analysis.host_graph.operations import CONVERSIONS, short
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.per_kernel import per_module
from tilewright.python_syntax import descendants
from tilewright.source.model import Launch, Module
from tilewright.source.text import Range

_MODULES = ("torch.nn.Module", "nn.Module")
_PARAMETERS = ("torch.nn.Parameter", "torch.nn.parameter.Parameter", "nn.Parameter")
_TRANSPOSES = frozenset({"t", "T", "mT", "transpose", "permute", "swapaxes", "movedim"})
_COPIES = frozenset({"contiguous", "clone"})
_HELD_BY_LAYERS = ("weight", "bias")
_FREE = frozenset({"detach", "view", "reshape", "squeeze", "unsqueeze", "flatten", "data"})


@detector("repack_in_forward", host=True)
def repack_in_forward(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``self.weight.t().contiguous()`` on the way to a kernel, at each call."""
    for launches, value, weight in _derived_weights(module):
        if _repacks(value):
            yield Finding(
                _where(module, value),
                f"Each call copies {weight} into another layout before the launch: the whole "
                "matrix is read and written, though it changes only when the weights do.",
                launches[0].kernel,
            )


@detector("cacheable_intermediate", host=True)
def cacheable_intermediate(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """What is computed from weights alone, at each call, for a kernel to read."""
    for launches, value, weight in _derived_weights(module):
        name = short(value.operation)
        if not _repacks(value) and name not in CONVERSIONS | _COPIES | _FREE:
            yield Finding(
                _where(module, value),
                f"This depends on {weight} alone, and the launch reads it: every call computes "
                "it anew, though it changes only when the weights do.",
                launches[0].kernel,
            )


def converted_weights(module: Module) -> Iterator[tuple[list[Launch], HostValue, str]]:
    """Weights that every call casts to another element type for a kernel."""
    for launches, value, weight in _derived_weights(module):
        if short(value.operation) in CONVERSIONS and not _repacks(value):
            yield launches, value, weight


def _where(module: Module, value: HostValue) -> Range:
    assert value.node is not None
    return module.index.range_of(value.node)


def _derived_weights(module: Module) -> Iterator[tuple[list[Launch], HostValue, str]]:
    """Tensors that a launch reads and that come from parameters of a module alone."""
    for name, graph, launches in graphs(module):
        owner = name.rpartition(".")[0]
        held = _parameters(module, owner) if owner else frozenset()
        if not held:
            continue
        given = {
            graph.root(use.value)
            for use in launch_uses(graph.uses)
            if use.role is not None and use.role.only_reads
        }
        for value in given:
            weights = _weights(value)
            if value.origin is not Origin.COMPUTED or not weights or not weights <= held:
                continue
            if not is_once(graph, value.place.branches) and not _is_kept(graph, value):
                yield launches, value, ", ".join(sorted(weights))


def _weights(value: HostValue, depth: int = 0) -> frozenset[str]:
    """The attributes a value is made from; empty where anything else goes in."""
    if value.origin is Origin.ATTRIBUTE:
        return frozenset({value.operation})
    if value.origin not in (Origin.COMPUTED, Origin.VIEW) or depth > 20:
        return frozenset()
    found: frozenset[str] = frozenset()
    for source in value.sources:
        if source.is_number or _is_type(source):
            continue
        part = _weights(source, depth + 1)
        if not part:
            return frozenset()
        found |= part
    return found


def _is_type(value: HostValue) -> bool:
    return value.origin is Origin.UNKNOWN and value.operation.startswith("torch.")


def _is_kept(graph: HostGraph, value: HostValue) -> bool:
    """Whether the function stores the value somewhere: then it may be for later calls."""
    return any(
        use.kind is UseKind.ESCAPE and not isinstance(use.node, ast.Return)
        for use in graph.data_uses(value)
    )


def _repacks(value: HostValue) -> bool:
    """A copy of a transposed view, maybe with a conversion around or below."""
    copies = turned = False
    current: HostValue | None = value
    while current is not None:
        name = short(current.operation)
        copies = copies or name in _COPIES
        turned = turned or (copies and name in _TRANSPOSES)
        current = current.sources[0] if current.sources else None
    return turned


@per_module
def _parameters(module: Module, owner: str) -> frozenset[str]:
    """Attributes that hold parameters or buffers: "self.weight", "self.proj.weight"."""
    node = next(
        (
            n
            for n in descendants(module.tree)
            if isinstance(n, ast.ClassDef) and n.name == owner.rpartition(".")[2]
        ),
        None,
    )
    if node is None or not any(module.names.resolve(b) in _MODULES for b in node.bases):
        return frozenset()
    found: set[str] = set()
    for part in descendants(node):
        if isinstance(part, ast.Assign | ast.AnnAssign):
            found.update(_assigned_parameters(module, part))
        elif isinstance(part, ast.Call):
            found.update(_registered(part))
    return frozenset(found)


def _registered(node: ast.Call) -> Iterator[str]:
    """``self.register_buffer("scale", ...)``."""
    is_registration = isinstance(node.func, ast.Attribute) and node.func.attr in (
        "register_buffer",
        "register_parameter",
    )
    name = node.args[0] if node.args else None
    if is_registration and isinstance(name, ast.Constant) and isinstance(name.value, str):
        yield f"self.{name.value}"


def _assigned_parameters(module: Module, statement: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    value = statement.value
    if not isinstance(value, ast.Call):
        return
    dotted = module.names.resolve(value.func) or ""
    for target in targets:
        text = ast.unparse(target)
        if not text.startswith("self."):
            continue
        if dotted in _PARAMETERS:
            yield text
        elif dotted.startswith(("torch.nn.", "nn.")):
            yield from (f"{text}.{name}" for name in _HELD_BY_LAYERS)
