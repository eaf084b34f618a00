"""Branches of a kernel that constants of its launches decide: others are not compiled."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from tilewright.analysis.detectors.common import constants_at, tuned_launches
from tilewright.analysis.nodes import nodes_like
from tilewright.python_syntax import descendants
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Launch, Module
from tilewright.source.parse import module_constants

_MOST = 64


def is_compiled_by_launches(module: Module, kernel: Kernel, line: int) -> bool | None:
    """Whether a launch in the file is known to compile a line of a kernel.

    It is if no branch around the line hangs on constants of the launch, or if those of a launch,
    with those of a tuner's configuration, are known and choose all of them. False is for a line
    that each launch is known to leave out, or of which no launch passes what decides: then flags
    keep their defaults, as a rule. None is for one of which neither is known.
    """
    choices = list(_choices_around(module, kernel, line))
    if not choices:
        return True
    wanted = [truth for _, truth in choices]
    held = [
        [_holds(module, launch, test, scope) for test, _ in choices]
        for launch, scope in _scopes(module, kernel)
    ]
    if wanted in held:
        return True
    is_left_out = all(
        any(found is (not truth) for found, truth in zip(values, wanted, strict=True))
        for values in held
    )
    names = {n.id for test, _ in choices for n in descendants(test) if isinstance(n, ast.Name)}
    launches = module.launches_of(kernel.name)
    is_passed = any(x.is_complete or not names.isdisjoint(x.arguments) for x in launches)
    return None if is_passed and not is_left_out else False


def branches_of(kernel: Kernel) -> list[ast.If | ast.IfExp]:
    """The conditional statements and expressions of a kernel."""
    return [*nodes_like(kernel.node, ast.If), *nodes_like(kernel.node, ast.IfExp)]


def _choices_around(module: Module, kernel: Kernel, line: int) -> Iterator[tuple[ast.expr, bool]]:
    """Tests that constants decide, each with the truth that leads to a line."""
    around = [
        (branch.test, truth)
        for branch in branches_of(kernel)
        for part, truth in ((branch.body, True), (branch.orelse, False))
        for nodes in (part if isinstance(part, list) else [part],)
        if any(n.lineno <= line <= (n.end_lineno or n.lineno) for n in nodes)
        and not branch.test.lineno <= line <= (branch.test.end_lineno or 0)
    ]
    constants = {p.name for p in kernel.parameters if p.is_constexpr}
    # The module's are asked for only where a branch is: this runs at each edit.
    constants |= module_constants(module.tree).keys() if around else set[str]()
    return ((test, truth) for test, truth in around if _is_decided(test, constants))


def _is_decided(test: ast.expr, constants: set[str]) -> bool:
    """Whether a test is one of constants alone, or for an argument that is not there."""
    match test:
        case ast.Compare(left=ast.Name(), ops=[ast.Is() | ast.IsNot()], comparators=[other]):
            return isinstance(other, ast.Constant) and other.value is None
    names = {node.id for node in descendants(test) if isinstance(node, ast.Name)}
    return bool(names) and names <= constants


def _scopes(module: Module, kernel: Kernel) -> Iterator[tuple[Launch, dict[str, Any]]]:
    """What is known of the arguments of each launch, for each configuration of a tuner."""
    tuned = tuned_launches(module, kernel)
    configs = (kernel.autotune.configs if kernel.autotune else None) or ()
    for launch in module.launches_of(kernel.name)[:_MOST]:
        stated = dict(_stated(module, kernel, launch))
        for config in configs[:_MOST] if launch in tuned and configs else [None]:
            yield launch, {**stated, **(config.values if config is not None else {})}


def _stated(module: Module, kernel: Kernel, launch: Launch) -> Iterator[tuple[str, Any]]:
    evaluator = Evaluator(constants_at(module, launch), {}, module.names)
    for parameter in kernel.parameters:
        node = launch.arguments.get(parameter.name)
        is_unstated = launch.is_complete or not _is_named_by_host(module, parameter.name)
        if node is None and parameter.default is not None and is_unstated:
            node = ast.parse(parameter.default, mode="eval").body
        elif node is not None:
            node = resolve(module, launch, node)
        try:
            if node is not None:
                yield parameter.name, evaluator.value(node)
        except Undecidable:
            continue


def _is_named_by_host(module: Module, name: str) -> bool:
    """Whether a name occurs outside of the kernels themselves: some call may give it."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    own = {n for k in module.kernels for n in range(k.node.lineno, (k.node.end_lineno or 0) + 1)}
    return any(n not in own and word.search(line) for n, line in enumerate(module.index.lines, 1))


def _holds(module: Module, launch: Launch, test: ast.expr, scope: dict[str, Any]) -> bool | None:
    try:
        found = Evaluator(constants_at(module, launch), {}, module.names).value(test, scope)
        return bool(found)
    except Undecidable:
        return None
