"""The functions of a file that are run: those that launch kernels and that a caller would call."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.executed.drafts import Space, space_of
from tilewright.executed.parameters import parameters_of
from tilewright.source.callgraph import CallGraph, call_graph
from tilewright.source.model import Module

_SIZES = frozenset(1 << n for n in range(4, 13))
_MOST_SIZES = 2


@dataclass(frozen=True)
class HostFunction:
    """A function as a call names it, with its node and the parameters that are not given."""

    name: str
    node: ast.FunctionDef
    skip: int = 0


def host_functions(module: Module) -> Iterator[HostFunction]:
    """The functions of the file's own scope that come to a launch, and what autograd applies."""
    graph = call_graph(module)
    for name, node in module.host_functions.items():
        if not _launches(graph, name):
            continue
        owner, _, method = name.rpartition(".")
        if not owner:
            yield HostFunction(name, node)
        elif method == "forward" and _is_applied(module, owner):
            yield HostFunction(f"{owner}.apply", node, 1)


def _launches(graph: CallGraph, name: str) -> bool:
    return any(step.edge.launch is not None for step in graph.reached(name))


def _is_applied(module: Module, owner: str) -> bool:
    """Whether a class is an autograd function, as its bases are written."""
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef) and node.name == owner:
            return any(ast.unparse(base).endswith("Function") for base in node.bases)
    return False


def space_for(module: Module, function: HostFunction) -> Space:
    """The drafts of a function's calls."""
    parameters = parameters_of(module, function.node, skip=function.skip)
    lines = tuple(module.text.splitlines())
    return space_of(function.name, parameters, lines, _tiles(function.node))


def _tiles(function: ast.FunctionDef) -> tuple[int, ...]:
    """The powers of two among a function's literals that tiles may have, in order."""
    found = (n.value for n in ast.walk(function) if isinstance(n, ast.Constant))
    sizes = (n for n in found if type(n) is int and n in _SIZES)
    return tuple(dict.fromkeys(sizes))[:_MOST_SIZES]
