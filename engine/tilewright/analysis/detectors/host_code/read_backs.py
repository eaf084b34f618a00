"""Where host code reads a number of a device tensor: through chains, conditions and helpers."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright.analysis.detectors.common import nodes_of
from tilewright.analysis.detectors.host_code.facts import is_once, is_tensor, launch_uses
from tilewright.analysis.host_graph.build import host_graph_of
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, Use, UseKind
from tilewright.analysis.host_graph.operations import short
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import reached
from tilewright.source.model import Module

_METHODS = frozenset({"item", "tolist", "cpu", "numpy"})
_CONVERSIONS = frozenset({"float", "int", "bool"})
_TO_HOST = frozenset({"cpu", "numpy", "tolist", "item"})
_DATA_SIZED = frozenset({"nonzero", "argwhere", "masked_select", "unique", "unique_consecutive"})
_CHOICES = frozenset({"compare", "Invert", "logical_not", "logical_and", "logical_or", "bool"})
_RARE = ("cpu", "is_cuda", ".device", "ndim == 0", "dim() == 0", "numel() == 1")
_OF_NUMBERS = frozenset({"triton.cdiv", "triton.next_power_of_2", "len"})
"""What gives a number of the host, whatever kernel is given it."""
_MAX_DEPTH = 20
_WITHOUT_KERNELS = ("pytorch", "fallback", "reference", "naive", "eager", "cpu")
"""What is in the names of functions that compute without kernels what others compute with them."""

COPIES_BACK = " copies from the device and makes the host wait for all work before it."
_COUNTS = " makes the host wait for all work before it, to learn how long the result is."
_COPIES_TO = " are copied to the device in every call, and the host waits until they are there."


@dataclass(frozen=True)
class ReadBack:
    """One read of a device tensor.

    Attributes:
        what: how it is spelled.
        why: what the host waits for.
        call: the call of the helper that it stands in.
        is_repeated: whether a loop of the host makes it again and again.
        helper: the function of the file that it stands in, if that is another one.
    """

    node: ast.expr
    what: str
    why: str = COPIES_BACK
    call: ast.Call | None = None
    is_condition: bool = False
    is_repeated: bool = False
    helper: ast.FunctionDef | None = None


def read_backs(module: Module, graph: HostGraph) -> Iterator[ReadBack]:
    """Every read of a tensor that a launch of the function is given, or of what follows from it."""
    device = frozenset(
        graph.root(use.value)
        for use in launch_uses(graph.uses)
        if use.role is not None and (use.role.reads or use.role.writes)
    )
    device = frozenset(value for value in device if value.operation not in _OF_NUMBERS)
    device = _with_origins(graph, device)
    yield from _in_graph(graph, device)
    yield from _in_helpers(module, graph, device)
    yield from _of_sizes(graph, device)
    yield from _from_lists(graph)


def _with_origins(graph: HostGraph, device: frozenset[HostValue]) -> frozenset[HostValue]:
    """Tensors of the device, and those that they are computed from: torch does not mix devices."""
    found, pending = set(device), list(device)
    while pending:
        value = pending.pop()
        if value.origin not in (Origin.COMPUTED, Origin.VIEW) or _moves(value):
            continue
        for source in value.sources[:1]:
            root = graph.root(source)
            # What a tensor indexes is one.
            if root not in found and (value.operation == "[]" or is_tensor(graph, root)):
                found.add(root)
                pending.append(root)
    return frozenset(found)


def _is_by_name(value: HostValue) -> bool:
    """``sizes["rows"]``: what is known of a dictionary's other entries says nothing of it."""
    node = value.node
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    )


def _moves(value: HostValue) -> bool:
    """Whether an operation may take a tensor to another device."""
    name = short(value.operation)
    is_call = isinstance(value.node, ast.Call)
    if name in ("cuda", "tensor", "as_tensor", "from_numpy", "copy_", "device_put"):
        return True
    texts = [ast.unparse(a) for a in value.node.args] if isinstance(value.node, ast.Call) else []
    named = is_call and "device" in ast.unparse(value.node or ast.Constant(None))
    return named or (name == "to" and not all(text.startswith("torch.") for text in texts))


def _of_sizes(graph: HostGraph, device: frozenset[HostValue]) -> Iterator[ReadBack]:
    """Results whose size hangs on the elements: the host has to ask for it."""
    for value in graph.values:
        if value.origin is not Origin.COMPUTED or value.node is None or not value.sources:
            continue
        name = short(value.operation)
        is_counted = name in _DATA_SIZED or (name == "[]" and _is_choice(value.sources[-1]))
        is_counted = is_counted or (name == "where" and len(value.sources) == 1)
        if is_counted and _is_on_device(graph.root(value.sources[0]), device):
            what = "An index of truth values" if name == "[]" else f"{name}()"
            yield ReadBack(value.node, what, _COUNTS, is_condition=True)


def _is_choice(index: HostValue) -> bool:
    """Whether an index is a tensor of truth values, by what made it."""
    name = short(index.operation)
    return index.origin is Origin.COMPUTED and (name in _CHOICES or name.startswith("is"))


def _from_lists(graph: HostGraph) -> Iterator[ReadBack]:
    """``x.new_tensor([0])``, ``torch.tensor(sizes, device=x.device)`` on the way to a launch.

    The first of a function stands for all.
    """
    sent = (value for value in graph.values if _is_sent(value))
    used = _before_launches(graph)
    for value in sent:
        if value in used and value.node is not None and not is_once(graph, value.place.branches):
            yield ReadBack(value.node, "Numbers of the host", _COPIES_TO, is_condition=True)
            return


def _is_sent(value: HostValue) -> bool:
    """Whether a tensor is made of numbers of the host, for the device."""
    node = value.node
    if value.origin is not Origin.COMPUTED or not isinstance(node, ast.Call) or not node.args:
        return False
    device = next((k.value for k in node.keywords if k.arg == "device"), None)
    if device is None:
        return short(value.operation) == "new_tensor"
    return value.operation == "torch.tensor" and "cpu" not in ast.unparse(device)


def _before_launches(graph: HostGraph) -> set[HostValue]:
    """What launches are given, and all that it is computed from."""
    given = [use.value for use in launch_uses(graph.uses)]
    return {value for one in given for value in reached(one, lambda v: v.sources)}


def _in_graph(graph: HostGraph, device: frozenset[HostValue]) -> Iterator[ReadBack]:
    for use in graph.uses:
        if use.kind is UseKind.OPERATION and isinstance(use.node, ast.Call):
            what = _spelling(use.node)
            if what is None or _asks_device(graph, use.place.branches):
                continue
            if _is_by_name(use.value) and not what.startswith("."):
                continue
            is_repeated = bool(use.place.loops)
            if _is_on_device(use.value, device) or (is_repeated and _is_likely(graph, use, what)):
                yield ReadBack(use.node, what, is_repeated=is_repeated)
    values = {value.node: value for value in graph.values if value.node is not None}
    for test in _tests(graph.node):
        value = values.get(test)
        if value is None or value.origin is not Origin.COMPUTED or _asks_kind(value):
            continue
        if _is_on_device(value, device):
            yield ReadBack(test, "This condition", is_condition=True)


def _is_likely(graph: HostGraph, use: Use, what: str) -> bool:
    """``.item()`` of a parameter's elements, which nothing says to be on the host."""
    root = graph.root(use.value)
    while root.operation == "[]" and root.sources:
        root = graph.root(root.sources[0])
    named = root.operation.lower()
    is_host = any(word in named for word in ("cpu", "host", "np", "list"))
    return what == ".item()" and root.origin is Origin.PARAMETER and not is_host


def _spelling(call: ast.Call) -> str | None:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS and not call.args:
        return f".{call.func.attr}()"
    if isinstance(call.func, ast.Name) and call.func.id in _CONVERSIONS and len(call.args) == 1:
        return f"{call.func.id}() of a tensor"
    return None


def _tests(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """The calls in conditions whose results Python turns into a truth value."""
    for node in nodes_of(function):
        if isinstance(node, ast.If | ast.While):
            yield from (part for part in _parts(node.test) if isinstance(part, ast.Call))


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _parts(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _parts(test.operand)
    else:
        yield test


def _asks_kind(value: HostValue) -> bool:
    """``torch.is_complex(x)``: answered without the elements."""
    return short(value.operation).startswith("is_")


def _asks_device(graph: HostGraph, branches: tuple[int, ...]) -> bool:
    """Whether a place runs only for tensors of one device, which may be the host's, or of one
    number."""
    tests = (ast.unparse(graph.guards[b].test) for b in branches if b in graph.guards)
    return any(word in test for test in tests for word in _RARE)


def _is_on_device(value: HostValue, device: frozenset[HostValue], depth: int = 0) -> bool:
    """Whether a value is such a tensor, or torch computed it from one and left it there."""
    if value in device:
        return True
    if depth > _MAX_DEPTH or value.origin not in (Origin.COMPUTED, Origin.VIEW):
        return False
    if short(value.operation) in _TO_HOST or _moves_to_host(value.node):
        return False
    return any(_is_on_device(source, device, depth + 1) for source in value.sources)


def _moves_to_host(node: ast.expr | None) -> bool:
    """``x.to("cpu")``."""
    return isinstance(node, ast.Call) and any(
        isinstance(part, ast.Constant) and part.value == "cpu"
        for argument in (*node.args, *(k.value for k in node.keywords))
        for part in ast.walk(argument)
    )


def _in_helpers(
    module: Module, graph: HostGraph, device: frozenset[HostValue]
) -> Iterator[ReadBack]:
    """Reads in the functions of the file that the function hands such a tensor to."""
    for call in nodes_like(graph.node, ast.Call):
        if not isinstance(call.func, ast.Name):
            continue
        helper = module.host_functions.get(call.func.id)
        is_foreign = helper is None or _is_cached(helper) or _is_without_kernels(call.func.id)
        if helper is None or is_foreign or helper is graph.node:
            continue
        given = {
            name
            for name, argument in _bound(helper, call)
            if isinstance(argument, ast.Name) and _names_device(graph, argument.id, device)
        }
        if not given:
            continue
        inner = host_graph_of(module, call.func.id)
        parameters = frozenset(
            v for v in inner.values if v.origin is Origin.PARAMETER and v.operation in given
        )
        for found in _in_graph(inner, parameters):
            yield replace(found, call=call, helper=helper)


def _is_without_kernels(name: str) -> bool:
    """Whether a helper is the way without a kernel, by its name."""
    return any(word in name.lower() for word in _WITHOUT_KERNELS)


def _is_cached(function: ast.FunctionDef) -> bool:
    return any("cache" in ast.unparse(decorator) for decorator in function.decorator_list)


def _bound(helper: ast.FunctionDef, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    names = [a.arg for a in (*helper.args.posonlyargs, *helper.args.args)]
    yield from zip(names, call.args, strict=False)
    yield from ((k.arg, k.value) for k in call.keywords if k.arg is not None)


def _names_device(graph: HostGraph, name: str, device: frozenset[HostValue]) -> bool:
    if any(v.origin is Origin.PARAMETER and v.operation == name for v in device):
        return True
    return any(_is_on_device(value, device) for value in graph.names.get(name, ()))
