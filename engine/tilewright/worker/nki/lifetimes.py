"""Tensors that the text uses inside one loop only, so that an iteration can free its blocks.

Kernels declare tensors of whole iteration spaces, gigabytes in sum. What one turn of the innermost
loop around all uses of a tensor wrote, no other turn reads, unless the kernel depends on the order
of turns; a read of a block that was dropped runs the launch again without this.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def freed_lines(kernel: Callable[..., Any]) -> dict[int, frozenset[int]]:
    """For each line of a loop, the lines of declarations whose tensors only that loop uses.

    Without the text, nothing is dropped early.
    """
    try:
        lines, start = inspect.getsourcelines(kernel)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return {}
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef):
        return {}
    found: dict[int, set[int]] = {}
    for name, declared in _declarations(function).items():
        loop = _innermost(function, name, declared)
        if loop is not None:
            found.setdefault(loop.lineno + start - 1, set()).add(declared.lineno + start - 1)
    return {line: frozenset(names) for line, names in found.items()}


def _declarations(function: ast.FunctionDef) -> dict[str, ast.stmt]:
    """Names that one statement outside all loops gives a tensor, and nothing else assigns."""
    found: dict[str, ast.stmt] = {}
    for statement in function.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            target = statement.targets[0]
            if isinstance(target, ast.Name) and _declares(statement.value):
                found[target.id] = statement
    stored: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored[node.id] = stored.get(node.id, 0) + 1
    return {name: statement for name, statement in found.items() if stored[name] == 1}


def _declares(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name in ("ndarray", "zeros", "full", "ones")


def _innermost(function: ast.FunctionDef, name: str, declared: ast.stmt) -> ast.For | None:
    """The innermost loop around all uses of a name; None where there is none."""
    body: list[ast.stmt] = [s for s in function.body if s is not declared]
    best: ast.For | None = None
    while True:
        using = [s for s in body if _uses(s, name)]
        if len(using) != 1 or not isinstance(using[0], ast.For):
            return best
        loop = using[0]
        if _uses(loop.iter, name):
            return best
        best = loop
        body = loop.body


def _uses(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))
