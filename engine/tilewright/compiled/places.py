"""From a line that a compiler names to a range of the file."""

import ast

from tilewright.analysis.nodes import nodes_like
from tilewright.source.model import Kernel, Module
from tilewright.source.text import Range

_TL = "triton.language."


def name_of(kernel: Kernel) -> Range:
    """The kernel's name."""
    return kernel.name_range


def line_range(module: Module, line: int) -> Range:
    """A line without its indentation and its comment's trailing blanks."""
    text = module.index.lines[line - 1]
    return Range(line, len(text) - len(text.lstrip()), line, len(text.rstrip()))


def known_line(module: Module, line: int | None) -> bool:
    """Whether the file has such a line."""
    return line is not None and 0 < line <= len(module.index.lines)


def calls_on(module: Module, line: int, *names: str) -> tuple[ast.Call, ...]:
    """Calls of functions of triton.language that begin on a line, in any of the file's kernels."""
    kernel = module.kernel_at(line)
    if kernel is None:
        return ()
    dotted = tuple(_TL + name for name in names)
    found = nodes_like(kernel.node, ast.Call)
    return tuple(n for n in found if n.lineno == line and module.names.is_call(n, *dotted))


def place_of(module: Module, line: int, *names: str) -> Range:
    """The one call on a line that is meant; the line where there are several, or none."""
    calls = calls_on(module, line, *names) if names else ()
    if len(calls) != 1:
        return line_range(module, line)
    where = module.index.range_of(calls[0])
    return where if where.end_line == line else line_range(module, line)
