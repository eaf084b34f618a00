"""A file's kernels without the rest of it: its statements are run one by one, failures left out.

What a file imports from its own package, and that does not import either, is loaded the same way.
A vendor's math library (``triton.language.extra.VENDOR.libdevice``) is answered by Triton's own,
which names the same functions. Decorators that fail are dropped, all but ``triton.jit``.
"""

import ast
import copy
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from refusals import REFUSALS
from triton.language.extra import libdevice

_VENDORS = "triton.language.extra."


def module_name(root: Path, path: Path) -> str:
    """The dotted name of a file below ``root``."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def load_piecewise(root: Path, path: Path) -> ModuleType:
    """A module with what could be made of a file's statements."""
    name = module_name(root, path)
    known = sys.modules.get(f"{name}.__piecewise__")
    if known is not None:  # perhaps still under way: files import each other
        return known
    module = ModuleType(f"{name}.__piecewise__")
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    module.__dict__.update(__file__=str(path), __package__=package)
    sys.modules[module.__name__] = module
    for statement in ast.parse(path.read_text(), str(path)).body:
        _run(statement, module, root)
    return module


def _run(statement: ast.stmt, module: ModuleType, root: Path) -> None:
    if _execute(statement, module):
        return
    if isinstance(statement, ast.FunctionDef):
        bare = copy.copy(statement)
        bare.decorator_list = [d for d in statement.decorator_list if _is_jit(d)]
        _execute(bare, module)
    elif isinstance(statement, ast.ImportFrom):
        _import_from(statement, module, root)
    elif isinstance(statement, ast.Import):
        for alias in statement.names:
            if alias.name.startswith(_VENDORS) and alias.asname:
                vars(module)[alias.asname] = libdevice
    elif isinstance(statement, ast.Try | ast.If):
        for inner in [*statement.body, *statement.orelse]:
            _run(inner, module, root)


def _execute(statement: ast.stmt, module: ModuleType) -> bool:
    tree = ast.Module([statement], type_ignores=[])
    try:
        exec(compile(tree, str(module.__file__), "exec"), vars(module))
    except REFUSALS:
        return False
    return True


def _is_jit(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(target) in ("triton.jit", "jit")


def _import_from(statement: ast.ImportFrom, module: ModuleType, root: Path) -> None:
    """Bind the names of a ``from`` import that failed, as far as they can be found."""
    source = _absolute(statement, str(module.__package__))
    for alias in statement.names:
        value = _imported(source, alias.name, root)
        if value is not None:
            vars(module)[alias.asname or alias.name] = value


def _absolute(statement: ast.ImportFrom, package: str) -> str:
    parts = package.split(".")
    below = parts[: len(parts) - statement.level + 1] if statement.level else []
    return ".".join([*below, *filter(None, [statement.module])])


def _imported(source: str, name: str, root: Path) -> Any:
    if source.startswith(_VENDORS) or f"{source}." == _VENDORS:
        return libdevice if name in ("libdevice", "extension") else getattr(libdevice, name, None)
    try:
        return getattr(importlib.import_module(source), name)
    except REFUSALS:
        pass
    place = root.joinpath(*source.split("."))
    for file in (place / f"{name}.py", place / name / "__init__.py"):
        if file.is_file():
            return load_piecewise(root, file)
    for file in (place.with_suffix(".py"), place / "__init__.py"):
        if file.is_file():
            return getattr(load_piecewise(root, file), name, None)
    return None
