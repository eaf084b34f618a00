"""Detectors in host functions that launch kernels."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from tilewright.analysis.detectors.host_code.diagnostics import (
    is_diagnostic,
    is_final_print,
    is_shown,
    is_without_launch,
)
from tilewright.analysis.detectors.host_code.facts import is_measuring, times_launches
from tilewright.analysis.detectors.host_code.read_backs import ReadBack, read_backs
from tilewright.analysis.detectors.host_code.read_sizes import (
    is_limit_of_launch,
    is_only_checked,
    is_size,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.host_graph.build import host_graph_of, launching_functions
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.python_syntax import descendants
from tilewright.source.host import is_fresh
from tilewright.source.model import Launch, Module

_SYNCHRONIZE = frozenset(
    f"torch.{device}.synchronize" for device in ("cuda", "xpu", "accelerator", "mps", "hpu")
)
_READS_BACK = frozenset({"item", "tolist", "cpu", "numpy"})
_CONVERSIONS = frozenset({"float", "int", "bool", "print"})
_NEEDED = "; the host needs the value here, unless its caller knows it or a bound of it."


@detector("device_host_sync", host=True)
def device_host_sync(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """The host waits for the device in a function that launches kernels."""
    for host, launches in launching_functions(module).items():
        node = module.host_functions[host]
        # A function that measures has to wait; so may a test or a main program.
        if not is_measuring(host) and not times_launches(node):
            calls = [launch.node for launch in launches]
            yield from _synchronizations(module, node, launches)
            reads = _read_backs(module, host, launches)
            waits = [read for read in reads if not is_without_launch(node, read[0], calls)]
            yield from _one_a_loop(node, waits)


def _one_a_loop(
    function: ast.FunctionDef, waits: list[tuple[ast.expr, Finding]]
) -> Iterator[Finding]:
    """What is found, with the waits that one loop makes in each turn as one: the loop is slow."""
    loops = [*nodes_like(function, ast.For), *nodes_like(function, ast.While)]
    inside = {id(loop): {id(node) for node in descendants(loop)} for loop in loops}
    by_loop: dict[int, list[Finding]] = {}
    for place, finding in waits:
        around = min(
            (loop for loop in loops if id(place) in inside[id(loop)]),
            key=lambda loop: len(inside[id(loop)]),
            default=place,
        )
        by_loop.setdefault(id(around), []).append(finding)
    for first, *others in by_loop.values():
        further = tuple(Related("waits here as well", other.range) for other in others)
        yield replace(first, related=first.related + further) if further else first


def _synchronizations(
    module: Module, node: ast.FunctionDef, launches: list[Launch]
) -> Iterator[Finding]:
    first = min(launch.range.line for launch in launches)
    # Faults of a launch are raised where the host waits: there they can be handled.
    tried = [s for block in nodes_like(node, ast.Try) if block.handlers for s in block.body]
    for statement in _statements(node.body):
        if not isinstance(statement, ast.Expr) or statement.lineno < first:
            continue
        if not _is_synchronize(module, statement.value) or statement in tried:
            continue
        if is_diagnostic(module, node, statement):
            continue
        yield Finding(
            module.index.range_of(statement),
            "The host waits here for the device before it goes on; launches are asynchronous, "
            "and reading the result waits by itself.",
            launches[0].kernel,
        )


def _is_synchronize(module: Module, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if module.names.resolve(node.func) in _SYNCHRONIZE:
        return True
    return (
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "synchronize"
        and isinstance(node.func.value, ast.Call)
        and (module.names.resolve(node.func.value.func) or "").endswith(".current_stream")
    )


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements at any depth, without those of functions and classes inside."""
    for statement in body:
        yield statement
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list) and not isinstance(
                statement, ast.FunctionDef | ast.ClassDef
            ):
                yield from _statements(inner)


def _sentence(text: str, is_wanted: bool) -> str:
    """What is said of a read, with what is not known where the host may need the value."""
    return text.removesuffix(".") + _NEEDED if is_wanted else text


def _is_wanted(
    module: Module, function: ast.FunctionDef, read: ReadBack, launches: list[Launch]
) -> bool:
    """Whether the host has to have a number itself: to return it, check it or launch by it."""
    node = read.node
    if isinstance(node, ast.Call) and _is_returned(function, node):
        return True
    if read.helper is not None:
        return False
    return is_only_checked(function, node) or is_limit_of_launch(module, function, node, launches)


def _is_returned(function: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether the read value is the function's result, which its callers want on the host."""
    for statement in nodes_like(function, ast.Return):
        value = statement.value
        while isinstance(value, ast.Call | ast.Attribute):
            if value is call:
                return True
            if isinstance(value, ast.Attribute):
                value = value.value
            elif isinstance(value.func, ast.Name) and value.func.id in _CONVERSIONS and value.args:
                value = value.args[0]
            else:
                value = value.func
    return False


def _read_backs(
    module: Module, host: str, launches: list[Launch]
) -> Iterator[tuple[ast.expr, Finding]]:
    """Each read, or the call of the helper that reads, with what is found of it."""
    node = module.host_functions[host]
    for read in chain(_own_reads(module, node, launches), _further_reads(module, host, launches)):
        if _looks_for_faults(module, node, read) or is_shown(node, read.node):
            continue
        if isinstance(read.node, ast.Call) and not read.is_condition:
            reader = node if read.helper is None else read.helper
            # A whole list is more than a size.
            may_be_size = read.helper is None or read.what != ".tolist()"
            if may_be_size and not read.is_repeated and is_size(module, reader, read.node):
                continue
        related: tuple[Related, ...] = ()
        is_result = _is_wanted(module, node, read, launches)
        if read.call is not None:
            related = (Related("called here", module.index.range_of(read.call)),)
        yield (
            read.node if read.call is None else read.call,
            Finding(
                module.index.range_of(read.node),
                _sentence(read.what + read.why, is_result),
                launches[0].kernel,
                related,
            ),
        )


def _own_reads(module: Module, node: ast.FunctionDef, launches: list[Launch]) -> Iterator[ReadBack]:
    """Reads of the very tensors that launches are given."""
    for call in nodes_like(node, ast.Call):
        what = None if is_final_print(node, call) else _read_back(module, call, launches)
        if what is not None:
            yield ReadBack(call, what)


def _further_reads(module: Module, host: str, launches: list[Launch]) -> Iterator[ReadBack]:
    """Reads of what follows from a tensor of the launch, in conditions, and in helpers."""
    for read in read_backs(module, host_graph_of(module, host)):
        is_own = (
            isinstance(read.node, ast.Call)
            and not read.is_condition
            and read.call is None
            and _read_back(module, read.node, launches) is not None
        )
        if not is_own:
            yield read


def _looks_for_faults(module: Module, node: ast.FunctionDef, read: ReadBack) -> bool:
    """Whether a read, or the call of the helper that reads, runs only to find faults."""
    if read.helper is None or read.call is None:
        return is_diagnostic(module, node, read.node)
    is_switched = is_diagnostic(module, node, read.call, read.helper.name)
    return is_switched or is_diagnostic(module, read.helper, read.node)


def _read_back(module: Module, call: ast.Call, launches: list[Launch]) -> str | None:
    """How a call reads a tensor that a kernel is given; None if it does not for sure."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _READS_BACK and not call.args:
        owner = call.func.value
        if isinstance(owner, ast.Subscript):
            owner = owner.value
        return f".{call.func.attr}()" if _is_device_tensor(module, owner, launches) else None
    if isinstance(call.func, ast.Name) and call.func.id in _CONVERSIONS and len(call.args) == 1:
        is_tensor = _is_device_tensor(module, call.args[0], launches)
        return f"{call.func.id}() of a tensor" if is_tensor else None
    return None


def _is_device_tensor(module: Module, node: ast.expr, launches: list[Launch]) -> bool:
    """A tensor that a launch is given: allocated here, or asked for its strides here."""
    if not isinstance(node, ast.Name):
        return False
    return any(
        isinstance(argument, ast.Name)
        and argument.id == node.id
        and (is_fresh(module, launch, argument) or _gives_strides(launch, node.id))
        for launch in launches
        for argument in launch.arguments.values()
    )


def _gives_strides(launch: Launch, tensor: str) -> bool:
    return any(
        isinstance(n, ast.Attribute)
        and n.attr in ("stride", "numel")
        and isinstance(n.value, ast.Name)
        and n.value.id == tensor
        for argument in launch.arguments.values()
        for n in ast.walk(argument)
    )
