"""Where a kernel is named: its definition, its launches, and calls from other kernels."""

import ast
import re
from collections.abc import Iterator

from tilewright.navigation.model import Role, Use, Uses
from tilewright.source.model import Kernel, Launch, Module
from tilewright.source.text import LineIndex, Range


def kernel_uses(module: Module, kernel: Kernel) -> Uses:
    """Every place that certainly names a kernel."""
    found = {Use(kernel.name_range, Role.DEFINITION)}
    names = {kernel.name, *kernel.aliases}
    for launch in module.launches_of(kernel.name):
        place = launched_name(module.index, launch, names)
        if place is not None:
            found.add(Use(place, Role.LAUNCH))
    for caller in module.callers_of(kernel):
        found |= {Use(place, Role.CALL) for place in called_at(module, caller, kernel)}
    return Uses(tuple(sorted(found)))


def launched_name(index: LineIndex, launch: Launch, names: set[str]) -> Range | None:
    """The kernel's name in a launch; None where the launch goes by another expression."""
    for node in ast.walk(launch.node.func):
        if isinstance(node, ast.Name) and node.id in names:
            return index.range_of(node)
        if isinstance(node, ast.Attribute) and node.attr in names:
            end = index.range_of(node)
            start = end.end_column - len(node.attr)
            return Range(end.end_line, start, end.end_line, end.end_column)
    return None


def launch_place(index: LineIndex, launch: Launch) -> Range:
    """What is launched, as it is written: ``kernel``, ``self.kernel``, ``kernels[name]``."""
    func = launch.node.func
    target = func.value if isinstance(func, ast.Subscript | ast.Attribute) else func
    return index.range_of(target)


def called_at(module: Module, caller: Kernel, kernel: Kernel) -> Iterator[Range]:
    """Where a kernel calls another one."""
    for node in ast.walk(caller.node):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id in (kernel.name, *kernel.aliases):
            yield module.index.range_of(called)


def word_at(index: LineIndex, line: int, column: int) -> str | None:
    """The identifier that a place touches."""
    if not 1 <= line <= len(index.lines):
        return None
    for found in re.finditer(r"\w+", index.lines[line - 1]):
        if found.start() <= column <= found.end():
            word = found.group()
            return word if word.isidentifier() else None
    return None
