"""Which of several kernels the host takes for which problem."""

import ast

from tilewright.source.host import host_of
from tilewright.source.model import Kernel, Launch, Module

_LONG = ("tile", "multi_block", "multiblock", "split", "large", "long", "chunk", "looped")


def is_for_long_rows(module: Module, kernel: Kernel) -> bool:
    """Whether a kernel is the one for rows too long for a block: by name, or by the host's choice.

    The host chooses where a conditional on a size launches this kernel on one side and another
    one on the other.
    """
    name = kernel.name.lower()
    if any(mark in name for mark in _LONG):
        return True
    return any(_is_chosen_by_size(module, launch) for launch in module.launches_of(kernel.name))


def _is_chosen_by_size(module: Module, launch: Launch) -> bool:
    host = host_of(module, launch)
    if host is None:
        return False
    for node in ast.walk(host):
        if isinstance(node, ast.If) and _compares_sizes(node.test):
            for one, two in ((node.body, node.orelse), (node.orelse, node.body)):
                if _launches(module, one, launch.kernel) and _launches_another(module, two, launch):
                    return True
    return False


def _compares_sizes(test: ast.expr) -> bool:
    return any(
        isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        for node in ast.walk(test)
        if isinstance(node, ast.Compare)
        for op in node.ops
    )


def _lines(block: list[ast.stmt]) -> range:
    if not block:
        return range(0)
    return range(block[0].lineno, (block[-1].end_lineno or block[-1].lineno) + 1)


def _launches(module: Module, block: list[ast.stmt], kernel: str) -> bool:
    lines = _lines(block)
    return any(launch.range.line in lines for launch in module.launches_of(kernel))


def _launches_another(module: Module, block: list[ast.stmt], launch: Launch) -> bool:
    lines = _lines(block)
    return any(
        other.range.line in lines and other.kernel != launch.kernel
        for other in module.launches
        if other.host_function == launch.host_function
    )
