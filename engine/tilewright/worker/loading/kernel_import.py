"""Import a file for its kernels only, within the limits of this interpreter.

First as it is; then with stand-ins for libraries that are not installed; then statement by
statement. Stand-ins and omissions are recorded for the report.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from triton.runtime.jit import JITFunction

from . import entry_point, partial_import, stub_modules

_SHOWN = 6


@dataclass(frozen=True)
class Loaded:
    """An imported file.

    Attributes:
        absent: libraries that were stood in for.
        left_out: lines of statements that failed and were left out.
        reason: why they were.
    """

    module: ModuleType
    absent: tuple[str, ...] = ()
    left_out: tuple[int, ...] = ()
    reason: str = ""

    def notes(self) -> list[str]:
        """Sentences for a person; none where the file was imported as it is."""
        told = []
        if self.absent:
            told.append(f"imported with stand-ins for {', '.join(self.absent)}")
        if self.left_out:
            lines = ", ".join(str(line) for line in self.left_out[:_SHOWN])
            more = len(self.left_out) - _SHOWN
            told.append(
                "imported without line"
                f"{'s' if len(self.left_out) > 1 else ''} {lines}"
                f"{f' and {more} more' if more > 0 else ''}, as it does not import here as a "
                f"whole ({self.reason})"
            )
        return told


def load_kernels(path: str, answers: Mapping[str, Any] | None = None) -> Loaded:
    """Import a file to compile what it defines.

    Args:
        answers: values of dotted names of absent libraries, as ``stand_in.load_module`` takes.

    Raises:
        JobError: there is no such file. SyntaxError: it is not Python.
    """
    root, name = place_in_package(Path(path))
    if name.partition(".")[0] not in sys.modules and "." in name:
        sys.path.append(root)
    try:
        return Loaded(*_whole(path, root, name, answers or {}))
    except SyntaxError as error:
        if error.filename == path:
            raise
        return _pieces(path, root, name, answers or {}, error)
    except partial_import.FAILURES as error:
        if not Path(path).is_file():
            raise
        return _pieces(path, root, name, answers or {}, error)


def place_in_package(file: Path) -> tuple[str, str]:
    """(the folder above the outermost package of a file, the file's dotted name from there)."""
    name, above = file.stem, file.parent
    while (above / "__init__.py").is_file():
        name, above = f"{above.name}.{name}", above.parent
    return str(above), name.removesuffix(".__init__")


def _whole(
    path: str, root: str, name: str, answers: Mapping[str, Any]
) -> tuple[ModuleType, tuple[str, ...]]:
    """(the module, what was stood in for); a module that is there already is not made again."""
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == path:
        return known, ()
    module, absent = stub_modules.load_module(path, answers)
    return module, tuple(absent)


def _pieces(
    path: str, root: str, name: str, answers: Mapping[str, Any], error: BaseException
) -> Loaded:
    absent = _absent(path, name.partition(".")[0])
    with stub_modules.standing_in(absent, answers):
        module, left_out = partial_import.load_piecewise(path, root, name)
    said = str(error).strip().splitlines()
    reason = f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
    return Loaded(module, tuple(absent), tuple(left_out), reason)


def _absent(path: str, own: str) -> list[str]:
    """Libraries that a file imports and this interpreter lacks."""
    roots: set[str] = set()
    for node in ast.walk(ast.parse(Path(path).read_bytes())):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.partition(".")[0])
    return sorted(r for r in roots - {own, "triton"} if not stub_modules.installed(r))


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
