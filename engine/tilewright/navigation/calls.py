"""Who launches a kernel, and what a host function launches in the end."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.navigation.kernels import called_at, launch_place
from tilewright.source.callgraph import CallGraph, call_graph
from tilewright.source.model import Kernel, Module
from tilewright.source.text import Range


@dataclass(frozen=True)
class Caller:
    """A kernel, a host function by its qualified name, or the file itself (``name`` empty)."""

    name: str
    is_kernel: bool


@dataclass(frozen=True)
class Calls:
    """Calls between two callers: where they stand."""

    other: Caller
    places: tuple[Range, ...]


_MODULE = Caller("", False)


def caller_at(module: Module, line: int, column: int) -> Caller | None:
    """The kernel or the launching host function whose name stands at a place."""
    for kernel in module.kernels:
        if kernel.name_range.contains(line, column):
            return Caller(kernel.name, True)
    for launch in module.launches:
        if launch_place(module.index, launch).contains(line, column):
            return Caller(launch.kernel, True)
    for name, node in module.host_functions.items():
        if name_range(module, node).contains(line, column) and launches(module, name):
            return Caller(name, False)
    return None


def place_of(module: Module, caller: Caller) -> tuple[Range, Range] | None:
    """All of a caller, and its name; None where the file has it no more."""
    if caller == _MODULE:
        start = Range(1, 0, 1, 0)
        return Range(1, 0, len(module.index.lines), len(module.index.lines[-1])), start
    if caller.is_kernel:
        kernel = module.kernel(caller.name)
        return None if kernel is None else (kernel.range, kernel.name_range)
    node = module.host_functions.get(caller.name)
    return None if node is None else (module.index.range_of(node), name_range(module, node))


def name_range(module: Module, node: ast.FunctionDef) -> Range:
    """Where the name of a function stands in its definition."""
    start = module.index.range_of(node)
    line = module.index.lines[start.line - 1]
    column = max(line.find(node.name, start.column + len("def")), start.column)
    return Range(start.line, column, start.line, column + len(node.name))


def incoming(module: Module, caller: Caller) -> tuple[Calls, ...]:
    """Who launches or calls it."""
    if caller.is_kernel:
        return _grouped(_callers_of_kernel(module, caller.name))
    return _grouped(_callers_of_host(module, call_graph(module), caller.name))


def outgoing(module: Module, caller: Caller) -> tuple[Calls, ...]:
    """The kernels that it launches or calls, and the host functions through which it does."""
    if caller.is_kernel:
        return _grouped(_called_kernels(module, caller.name))
    return _grouped(_called_by_host(module, call_graph(module), caller.name))


_Found = Iterator[tuple[Caller, Range]]


def _grouped(found: _Found) -> tuple[Calls, ...]:
    places: dict[Caller, list[Range]] = {}
    for caller, place in found:
        places.setdefault(caller, []).append(place)
    return tuple(Calls(caller, tuple(sorted(set(each)))) for caller, each in places.items())


def _callers_of_kernel(module: Module, name: str) -> _Found:
    for launch in module.launches_of(name):
        owner = Caller(launch.host_function, False) if launch.host_function else _MODULE
        yield owner, launch_place(module.index, launch)
    kernel = module.kernel(name)
    for caller in module.callers_of(kernel) if kernel is not None else ():
        yield from _places(module, Caller(caller.name, True), caller, kernel)


def _called_kernels(module: Module, name: str) -> _Found:
    kernel = module.kernel(name)
    for helper in module.helpers_of(kernel) if kernel is not None else ():
        yield from _places(module, Caller(helper.name, True), kernel, helper)


def _places(module: Module, shown: Caller, caller: Kernel | None, called: Kernel | None) -> _Found:
    if caller is not None and called is not None:
        yield from ((shown, place) for place in called_at(module, caller, called))


def _callers_of_host(module: Module, graph: CallGraph, name: str) -> _Found:
    for owner, edges in graph.edges.items():
        for edge in edges:
            if edge.callee == name:
                yield Caller(owner, False), module.index.range_of(edge.node.func)


def _called_by_host(module: Module, graph: CallGraph, name: str) -> _Found:
    for edge in graph.edges.get(name, ()):
        if edge.launch is not None:
            yield Caller(edge.launch.kernel, True), launch_place(module.index, edge.launch)
        elif edge.callee is not None and launches(module, edge.callee, graph):
            yield Caller(edge.callee, False), module.index.range_of(edge.node.func)


def launches(module: Module, name: str, graph: CallGraph | None = None) -> bool:
    """Whether a host function launches a kernel in the end."""
    found = graph or call_graph(module)
    return any(step.edge.launch is not None for step in found.reached(name))
