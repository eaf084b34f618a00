"""Kernels that no file of a checked project mentions: what is found in them is less certain.

A kernel may be left over, or not be in use yet. A file alone does not show that, as kernels may
be launched from other files; so only a check of folders asks.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tilewright.analysis.model import Issue
from tilewright.analysis.severities import host_names, users_of
from tilewright.checking.checked import Checked
from tilewright.checking.walk import files_to_check
from tilewright.errors import InputError
from tilewright.knowledge.model import ADVICE
from tilewright.textfile import utf8_text

_PROJECT = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_LARGEST = 4 * 1024 * 1024
_STAR = re.compile(r"^\s*from\s+[\w.]*?(\w+)\s+import\s+\*", re.MULTILINE)


def with_unused(files: Sequence[Checked], paths: Iterable[Path]) -> list[Checked]:
    """Files with what was found in kernels that their project does not mention made less severe.

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
    """Kernels whose file does not mention them outside of kernels, each with all that call it."""
    asked = {issue.kernel for issue in file.issues if issue.severity > ADVICE} - {None}
    users = {name: users_of(file.module, name) for name in asked if name is not None}
    host = host_names(file.module) if users else frozenset[str]()
    return {name: found for name, found in users.items() if found.isdisjoint(host)}


def _project_files(folders: Iterable[Path]) -> Iterator[Path]:
    roots = {_project_of(folder.resolve()) for folder in folders}
    for found in files_to_check(sorted(roots), isolated=True):
        if isinstance(found, Path):
            yield found


def _project_of(folder: Path) -> Path:
    around = (folder, *folder.parents)
    return next((f for f in around if any((f / name).exists() for name in _PROJECT)), folder)


def _text(file: Path) -> str:
    try:
        return utf8_text(file, _LARGEST)
    except InputError:
        return ""  # told where the file itself is checked


def _places(names: Collection[str], files: Iterable[Path]) -> Mapping[str, set[Path]]:
    """The files that have a name elsewhere than in its definition, or import all of a module."""
    named = re.compile(rf"(?<!def )\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
    found = defaultdict[str, set[Path]](set)
    for file in files:
        text = _text(file)
        for name in (*named.findall(text), *_STAR.findall(text)):
            found[name].add(file)
    return found
