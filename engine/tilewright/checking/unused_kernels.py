"""Kernels that no file of a checked project uses: what is found in them is less certain.

A kernel may be left over, or not be in use yet; so may a private function that launches it. A file
alone does not show that, as both may be used in other files; so only a check of folders asks.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard

from tilewright.analysis.dead_code import is_dead
from tilewright.analysis.model import Issue
from tilewright.analysis.severities import mentions, users_of
from tilewright.checking.checked import Checked
from tilewright.checking.walk import files_to_check
from tilewright.knowledge.model import ADVICE
from tilewright.source.model import Module
from tilewright.textfile import utf8_text_or_none

_PROJECT = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_LARGEST = 4 * 1024 * 1024
_STAR = re.compile(r"^\s*from\s+[\w.]*?(\w+)\s+import\s+\*", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*from\s+\S+\s+import\s+(?:\([^)]*\)|.*)", re.MULTILINE)


def with_unused(files: Sequence[Checked], paths: Iterable[Path]) -> list[Checked]:
    """Files with what was found in kernels that their project does not use made less severe.

    Looked through are the projects that the folders among ``paths`` belong to.
    """
    folders = [path for path in paths if path.is_dir()]
    asked = {file.module.path: _unlaunched(file) for file in files} if folders else {}
    names = {name for kernels in asked.values() for users in kernels.values() for name in users}
    if not names:
        return list(files)
    places = _places(names, _project_files(folders))
    return [_weighed(file, asked[file.module.path], places) for file in files]


def _weighed(
    file: Checked, kernels: Mapping[str, frozenset[str]], places: Mapping[str, set[Path]]
) -> Checked:
    path = Path(file.module.path).resolve()
    elsewhere = {name for name, found in places.items() if found - {path}}
    if path.stem in elsewhere:
        return file
    unused = {name for name, users in kernels.items() if users.isdisjoint(elsewhere)}
    issues = (_as_advice(i) if i.kernel in unused else i for i in file.issues)
    return replace(file, issues=tuple(issues))


def _as_advice(issue: Issue) -> Issue:
    return replace(issue, severity=min(issue.severity, ADVICE))


def _unlaunched(file: Checked) -> dict[str, frozenset[str]]:
    """Kernels that their file does not use, each with the names of what uses it if it is used.

    Those are all kernels that call it, and private functions that launch them.
    """
    asked = {issue.kernel for issue in file.issues if issue.severity > ADVICE} - {None}
    found = {name: _ways_in(file.module, name) for name in asked if name is not None}
    return {name: ways for name, ways in found.items() if ways is not None}


def _ways_in(module: Module, kernel: str) -> frozenset[str] | None:
    """The names one of which other files must mention to use a kernel; None if its file does."""
    found = set(users_of(module, kernel))
    kernels = {id(one.node) for one in module.kernels}
    hosts = [node for node in module.tree.body if id(node) not in kernels]
    while True:
        users = [node for node in hosts if _uses(module, node, found)]
        private = {node.name for node in users if _is_private(node)}
        if len(private) < len({id(node) for node in users}):
            return None
        if private <= found:
            return frozenset(found)
        found |= private
        hosts = [node for node in hosts if getattr(node, "name", None) not in private]


def _uses(module: Module, statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement mentions one of some names where it may run."""
    if names.isdisjoint(mentions(statement)):
        return False
    return any(
        not is_dead(module, node.lineno)
        for node in ast.walk(statement)
        if (isinstance(node, ast.Name) and node.id in names)
        or (isinstance(node, ast.Constant) and node.value in names)
    )


def _is_private(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    """Whether it is a function that only its own project is to call."""
    return (
        isinstance(node, ast.FunctionDef)
        and node.name.startswith("_")
        and not node.name.startswith("__")
        and not node.decorator_list
    )


def _project_files(folders: Iterable[Path]) -> Iterator[Path]:
    roots = {_project_of(folder.resolve()) for folder in folders}
    for found in files_to_check(sorted(roots), isolated=True):
        if isinstance(found, Path):
            yield found


def _project_of(folder: Path) -> Path:
    around = (folder, *folder.parents)
    return next((f for f in around if any((f / name).exists() for name in _PROJECT)), folder)


def _places(names: Collection[str], files: Iterable[Path]) -> Mapping[str, set[Path]]:
    """The files that use a name elsewhere than in its definition, or import all of a module.

    An import alone is a use in the ``__init__`` of a package, which hands names on.
    """
    named = re.compile(rf"(?<!def )\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
    found = defaultdict[str, set[Path]](set)
    for file in files:
        text = utf8_text_or_none(file, _LARGEST) or ""  # told where the file itself is checked
        used = text if file.name == "__init__.py" else _IMPORT.sub(_renamed, text)
        for name in (*named.findall(used), *_STAR.findall(text)):
            found[name].add(file)
    return found


def _renamed(statement: re.Match[str]) -> str:
    """What an import leaves to look through: a name that it renames is used by the new one."""
    return statement[0] if " as " in statement[0] else ""
