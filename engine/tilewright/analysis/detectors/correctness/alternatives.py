"""Kernels that keep two ways to do a thing, of which a constexpr chooses one."""

import ast
from collections.abc import Collection, Iterator

from tilewright.analysis.detectors.common import nodes_of
from tilewright.source.model import Kernel, Module

_Choice = tuple[str, bool]
_Arm = tuple[_Choice, list[ast.stmt]]


def builds_without(module: Module, kernel: Kernel, avoided: Collection[ast.expr]) -> bool:
    """Whether some choice of constexprs leaves all of these expressions out of the kernel.

    That is so where each stands in an arm of an ``if`` on a constexpr, the other arm of which has
    none of them, unless a launch of the file chooses that very arm.
    """
    if not avoided:
        return False
    ids = {id(node) for node in avoided}
    arms = [
        (choice, arm, other)
        for first, second in _branches(kernel)
        for (choice, arm), (_, other) in ((first, second), (second, first))
    ]
    optional = {
        choice
        for choice, _, other in arms
        if other and not _held(other, ids) and not _is_chosen(module, kernel, choice)
    }
    left_out = {i for choice, arm, _ in arms if choice in optional for i in _held(arm, ids)}
    return left_out == ids


def _branches(kernel: Kernel) -> Iterator[tuple[_Arm, _Arm]]:
    """Both arms of each ``if`` on a constexpr, with the value that takes it."""
    for node in nodes_of(kernel.node):
        if not isinstance(node, ast.If):
            continue
        test, value = node.test, True
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, value = test.operand, False
        if isinstance(test, ast.Name) and test.id in kernel.constexprs:
            yield ((test.id, value), node.body), ((test.id, not value), node.orelse)


def _held(arm: list[ast.stmt], ids: Collection[int]) -> set[int]:
    return {id(node) for statement in arm for node in ast.walk(statement) if id(node) in ids}


def _is_chosen(module: Module, kernel: Kernel, choice: _Choice) -> bool:
    """Whether a launch of the file gives the constexpr that value outright."""
    name, value = choice
    given = [launch.arguments.get(name) for launch in module.launches_of(kernel.name)]
    return any(isinstance(node, ast.Constant) and bool(node.value) is value for node in given)
