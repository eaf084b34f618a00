"""Whether a file states that extents are multiples of blocks."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import nodes_of
from tilewright.source.host import host_of
from tilewright.source.model import Kernel, Launch, Module

_POWERS = ("is_power_of_2", "is_power_of_two", "is_pow2", "next_power_of_2")


def states_divisibility(module: Module, kernel: Kernel) -> bool:
    """Whether the kernel, or a function that launches it, checks for a multiple or a power of two.

    Any assertion or condition with ``%``, ``& (n - 1)`` or a comparison with the next power of
    two counts: it may be about the extent.
    """
    functions: list[ast.FunctionDef] = [kernel.node]
    for launch in module.launches_of(kernel.name):
        host = host_of(module, launch)
        if host is not None and host not in functions:
            functions.append(host)
    return any(_is_about_multiples(test) for f in functions for test in _tests(f))


def callers_state_divisibility(module: Module, kernel: Kernel) -> bool:
    """Whether a function of the file that calls one which launches the kernel does so."""
    hosts = {launch.host_function for launch in module.launches_of(kernel.name)}
    return any(
        _is_about_multiples(test)
        for function in module.host_functions.values()
        if any(isinstance(c.func, ast.Name) and c.func.id in hosts for c in _calls(function))
        for test in _tests(function)
    )


def _calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    return (node for node in nodes_of(function) if isinstance(node, ast.Call))


def is_stated_multiple(module: Module, kernel: Kernel, name: str) -> bool:
    """Whether every launch stands in a function that asserts a multiple of what it passes."""
    launches = module.launches_of(kernel.name)
    return bool(launches) and all(_asserts_multiple(module, launch, name) for launch in launches)


def _asserts_multiple(module: Module, launch: Launch, name: str) -> bool:
    host, given = host_of(module, launch), launch.arguments.get(name)
    # Behind ``*x.stride()`` nothing says which argument is whose but its name.
    text = name if given is None else ast.unparse(given)
    return host is not None and text in _asserted_multiples(host)


def _asserted_multiples(function: ast.FunctionDef) -> set[str]:
    """The expressions of ``assert n % b == 0``."""
    return {
        ast.unparse(part.left.left)
        for node in nodes_of(function)
        if isinstance(node, ast.Assert)
        for part in ast.walk(node.test)
        if isinstance(part, ast.Compare)
        and isinstance(part.left, ast.BinOp)
        and isinstance(part.left.op, ast.Mod)
        and len(part.ops) == 1
        and isinstance(part.ops[0], ast.Eq)
        and isinstance(part.comparators[0], ast.Constant)
        and part.comparators[0].value == 0
    }


def _tests(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in nodes_of(function):
        if isinstance(node, ast.Assert | ast.If | ast.IfExp):
            yield node.test
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if node.args and ("assert" in name or "check" in name):
                yield node.args[0]


def _is_about_multiples(test: ast.expr) -> bool:
    for node in ast.walk(test):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.BitAnd):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            if name in _POWERS:
                return True
    return False
