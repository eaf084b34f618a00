"""A file's kernels without the rest of it: its statements are run one by one, failures left out.

What a file imports from its own package, and that does not import either, is loaded the same way.
A vendor's math library (``triton.language.extra.VENDOR.libdevice``) is answered by Triton's own,
which names the same functions. Decorators that fail are dropped, all but ``triton.jit``.
"""

from __future__ import annotations

import ast
import copy
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from ..protocol import JobError

FAILURES = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError,
    RuntimeError, SyntaxError, TypeError, ValueError, JobError,
    SystemExit,  # of scripts that end so, or that read a command line, which is not theirs here
)  # fmt: skip
_VENDORS = "triton.language.extra."
_JIT = frozenset({"triton.jit", "jit", "triton.runtime.jit.jit"})


def load_piecewise(path: str, root: str, name: str) -> tuple[ModuleType, list[int]]:
    """(what could be made of a file's statements, the lines of those left out).

    Args:
        root: the folder above the outermost package that the file belongs to.
        name: its dotted name from there.
    """
    loader = _Loader(Path(root))
    module = loader.load(Path(path), name)
    return module, sorted(loader.left_out.get(module.__name__, []))


class _Loader:
    """Files of one package tree; a file that is under way is handed out as it is."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.left_out: dict[str, list[int]] = {}

    def load(self, path: Path, name: str) -> ModuleType:
        own = f"{name}.__piecewise__"
        if own in sys.modules:
            return sys.modules[own]
        module = ModuleType(own)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        module.__dict__.update(__file__=str(path), __package__=package)
        sys.modules[own] = module
        self.left_out[own] = []
        for statement in ast.parse(path.read_bytes(), str(path)).body:
            self._run(statement, module)
        return module

    def _run(self, statement: ast.stmt, module: ModuleType) -> None:
        if _execute(statement, module):
            return
        if isinstance(statement, ast.Try | ast.If):
            for inner in [*statement.body, *statement.orelse]:
                self._run(inner, module)
        elif isinstance(statement, ast.ImportFrom):
            self._import_from(statement, module)
        elif isinstance(statement, ast.FunctionDef):
            at = statement.lineno
            if _execute(_bare(statement), module) and statement.decorator_list:
                at = statement.decorator_list[0].lineno
            self.left_out[module.__name__].append(at)
        elif not _vendor_import(statement, module):
            self.left_out[module.__name__].append(statement.lineno)

    def _import_from(self, statement: ast.ImportFrom, module: ModuleType) -> None:
        """Bind the names of a ``from`` import that failed, as far as they can be found."""
        source = _absolute(statement, str(module.__package__))
        for alias in statement.names:
            value = self._imported(source, alias.name)
            if value is None:
                self.left_out[module.__name__].append(statement.lineno)
            else:
                vars(module)[alias.asname or alias.name] = value

    def _imported(self, source: str, name: str) -> Any:
        if source.startswith(_VENDORS) or f"{source}." == _VENDORS:
            from triton.language.extra import libdevice

            return libdevice if name in ("libdevice", "extension") else getattr(libdevice, name, 0)
        try:
            return getattr(importlib.import_module(source), name)
        except FAILURES:
            pass
        place = self._root.joinpath(*source.split("."))
        for file in (place / f"{name}.py", place / name / "__init__.py"):
            if file.is_file():
                return self.load(file, f"{source}.{name}")
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                return getattr(self.load(file, source), name, None)
        return None


def _execute(statement: ast.stmt, module: ModuleType) -> bool:
    tree = ast.Module([statement], type_ignores=[])
    try:
        exec(compile(tree, str(module.__file__), "exec"), vars(module))
    except FAILURES:
        return False
    return True


def _bare(statement: ast.FunctionDef) -> ast.FunctionDef:
    """The function under ``triton.jit`` alone."""
    bare = copy.copy(statement)
    bare.decorator_list = [d for d in statement.decorator_list if _is_jit(d)]
    return bare


def _is_jit(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(target) in _JIT


def _vendor_import(statement: ast.stmt, module: ModuleType) -> bool:
    """``import triton.language.extra.VENDOR.libdevice as ...``."""
    if not isinstance(statement, ast.Import):
        return False
    from triton.language.extra import libdevice

    vendors = [a for a in statement.names if a.name.startswith(_VENDORS) and a.asname]
    for alias in vendors:
        vars(module)[str(alias.asname)] = libdevice
    return bool(vendors)


def _absolute(statement: ast.ImportFrom, package: str) -> str:
    parts = package.split(".")
    below = parts[: len(parts) - statement.level + 1] if statement.level else []
    return ".".join([*below, *filter(None, [statement.module])])
