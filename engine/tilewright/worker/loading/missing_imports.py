"""What a kernel uses that its file could not be imported with: a refusal is then no verdict."""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from triton.runtime.jit import JITFunction

from . import entry_point, stub_modules
from .kernel_import import Loaded


def wanting(loaded: Loaded, kernel: Any) -> list[str]:
    """Names that a kernel, or what it calls, reads and that are stood in for or left out."""
    if not loaded.absent and not loaded.left_out:
        return []
    own = str(loaded.module.__file__)
    lost = set(_bound(Path(own), frozenset(loaded.left_out))) if loaded.left_out else set()
    found: dict[str, None] = {}
    waiting, seen = [kernel], set()
    while waiting:
        function = waiting.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        names = function.fn.__globals__
        for name in _globals_read(function.fn):
            value = names.get(name)
            if stub_modules.is_absent(value) or (name in lost and names.get("__file__") == own):
                found[name] = None
            elif isinstance(called := entry_point.unwrap(value), JITFunction):
                waiting.append(called)
    return list(found)


def _globals_read(function: Any) -> Iterator[str]:
    for one in dis.get_instructions(function):
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(one.argval)


def _bound(file: Path, lines: frozenset[int]) -> Iterator[str]:
    """Names that the statements on these lines give a value."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if not isinstance(node, ast.stmt) or node.lineno not in lines:
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id
            elif isinstance(inner, ast.alias):
                yield inner.asname or inner.name.partition(".")[0]
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
