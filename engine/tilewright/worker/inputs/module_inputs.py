"""Modules that make inputs themselves (``get_inputs``), at other sizes than their own."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..loading import entry_point
from ..protocol import JobError

if TYPE_CHECKING:
    from ..messages.parts import Case

_MADE: dict[tuple[str, str], ModuleType] = {}


def maker(path: str, case: Case) -> ModuleType:
    """The module that makes a case's inputs: its constants have the values of ``dims``."""
    constants = dict(case.get("dims") or {})
    key = (path, repr(sorted(constants.items())))
    if key not in _MADE:
        _MADE[key] = (
            _with_constants(path, constants) if constants else entry_point.load_module(path)
        )
    return _MADE[key]


def _with_constants(path: str, constants: Mapping[str, Any]) -> ModuleType:
    """Import a file with other values for whole numbers that it names at its top level."""
    file = Path(path)
    if not file.is_file():
        raise JobError(f"there is no file {path}")
    tree = ast.parse(file.read_bytes(), path)
    tree.body = [one for node in tree.body for one in (node, *_instead(node, constants))]
    module = ModuleType(f"maker_{len(_MADE)}_{file.stem}")
    module.__file__ = path
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(file.parent))
    exec(compile(ast.fix_missing_locations(tree), path, "exec"), vars(module))
    return module


def _instead(node: ast.stmt, constants: Mapping[str, Any]) -> Iterator[ast.stmt]:
    """What gives the names that a statement has just bound their other values."""
    for target in node.targets if isinstance(node, ast.Assign) else ():
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        for name in names:
            if isinstance(name, ast.Name) and name.id in constants:
                (given,) = ast.parse(f"{name.id} = {constants[name.id]!r}").body
                for part in ast.walk(given):
                    ast.copy_location(part, node)
                yield given


def inputs(module: ModuleType | None, case: Case) -> dict[str, Any]:
    """What ``get_inputs`` gives, which gets those of ``dims`` that it takes."""
    if module is None or not hasattr(module, "get_inputs"):
        raise JobError(
            "the case takes its inputs from get_inputs(), which the module does not define"
        )
    taken = inspect.signature(module.get_inputs).parameters
    told = {name: value for name, value in (case.get("dims") or {}).items() if name in taken}
    made = module.get_inputs(**told)
    names = getattr(module, "input_names", None)
    if not isinstance(names, list | tuple) or len(names) != len(made):
        names = [f"input_{at}" for at in range(len(made))]
    return {str(name): value for name, value in zip(names, made, strict=True)}


def arguments(module: ModuleType) -> list[Any]:
    """The constructor's arguments; none where the module says none."""
    found = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
    if not isinstance(found, list | tuple):
        raise JobError(f"get_init_inputs() gives a {type(found).__name__}; it is to give a list")
    return list(found)
