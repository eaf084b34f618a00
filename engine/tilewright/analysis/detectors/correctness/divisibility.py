"""Whether a file states that extents are multiples of blocks."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import nodes_of, source_numbers
from tilewright.analysis.detectors.correctness.masks import unexpanded
from tilewright.analysis.detectors.program_counts import grid_extents
from tilewright.analysis.intervals import number_of
from tilewright.analysis.values import Value
from tilewright.source.host import host_of
from tilewright.source.model import Kernel, Launch, Module

_POWERS = ("is_integer", "is_power_of_2", "is_power_of_two", "is_pow2", "next_power_of_2")


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


def is_stated_multiple(module: Module, kernel: Kernel, name: str, block: str | None = None) -> bool:
    """Whether every launch is in a function that asserts a multiple of what it passes.

    Where a block is named it is that block's multiple. Instead of the function that launches,
    all the callers of it in the file may assert so of what they pass.
    """
    launches = module.launches_of(kernel.name)
    return bool(launches) and all(_asserts_multiple(module, one, name, block) for one in launches)


def is_cut_to_whole_blocks(
    module: Module, kernel: Kernel, axis: int | None, extent: str, block: str
) -> bool:
    """Whether every launch has a program for each whole block of an extent alone: ``n // B``.

    Then no program gets lanes past the extent; one shorter than a block has no program. Without an
    ``axis`` any axis of the grid counts.
    """
    launches = module.launches_of(kernel.name)
    return bool(launches) and all(
        _is_cut(module, launch, axis, extent, block) for launch in launches
    )


def is_whole_at_launches(module: Module, kernel: Kernel, extent: Value, block: Value) -> bool:
    """Whether each launch of the file states an extent and a block, and the one divides the other.

    A kernel whose file launches it with other extents nowhere is written for these.
    """
    stated = [
        (number_of(unexpanded(extent), numbers), number_of(block, numbers))
        for _, numbers in source_numbers(module, kernel)
    ]
    return bool(stated) and all(n and b and n % b == 0 for n, b in stated)


def _is_cut(module: Module, launch: Launch, axis: int | None, extent: str, block: str) -> bool:
    extents = grid_extents(module, launch)
    counts = extents if axis is None else extents[axis : axis + 1]
    whole, length = _passed_text(launch, extent), _passed_text(launch, block)
    cuts = [c for c in counts if isinstance(c, ast.BinOp) and isinstance(c.op, ast.FloorDiv)]
    divided = [(ast.unparse(cut.left), ast.unparse(cut.right)) for cut in cuts]
    return any(
        one == whole and (two == length or two.endswith(f"['{block}']")) for one, two in divided
    )


def _asserts_multiple(module: Module, launch: Launch, name: str, block: str | None) -> bool:
    host = host_of(module, launch)
    if host is None:
        return False
    extent, length = _passed_text(launch, name), block and _passed_text(launch, block)
    return _states(host, extent, length) or _callers_state(module, host, extent, length)


def _passed_text(launch: Launch, name: str) -> str:
    """What a launch passes; of what ``*x.stride()`` or a tuner passes only the name is known."""
    given = launch.arguments.get(name)
    return name if given is None else ast.unparse(given)


def _states(function: ast.FunctionDef, extent: str, length: str | None) -> bool:
    """Whether a function asserts that an extent is a multiple: of a length, if one is given."""
    return any(
        one == extent and (length is None or two == length or two.endswith(f"['{length}']"))
        for one, two in _asserted_multiples(function)
    )


def _callers_state(module: Module, host: ast.FunctionDef, extent: str, length: str | None) -> bool:
    """Whether an extent is a parameter, and every caller in the file asserts a multiple of it."""
    names = [given.arg for given in (*host.args.posonlyargs, *host.args.args)]
    calls = [
        (function, call)
        for function in (module.host_functions.values() if extent in names else ())
        for call in _calls(function)
        if isinstance(call.func, ast.Name) and call.func.id == host.name
    ]
    return bool(calls) and all(
        _states(
            function, _given_text(call, names, extent), length and _given_text(call, names, length)
        )
        for function, call in calls
    )


def _given_text(call: ast.Call, names: list[str], text: str) -> str:
    """What a call gives for a parameter; any other text stays."""
    for keyword in call.keywords:
        if keyword.arg == text:
            return ast.unparse(keyword.value)
    place = names.index(text) if text in names else len(call.args)
    return ast.unparse(call.args[place]) if place < len(call.args) else text


def _asserted_multiples(function: ast.FunctionDef) -> set[tuple[str, str]]:
    """n and b of ``assert n % b == 0``."""
    return {
        (ast.unparse(part.left.left), ast.unparse(part.left.right))
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
