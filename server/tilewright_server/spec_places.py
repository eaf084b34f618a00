"""From a kernel's file to its spec, and from a spec to the function that it names; reads files."""

import ast
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from itertools import takewhile
from pathlib import Path

from lsprotocol import types
from pygls import uris

from tilewright.errors import InputError
from tilewright.problems.model import Problem
from tilewright.problems.spec_files import SPEC_SUFFIXES, patterns_in, specs_of
from tilewright.textfile import utf8_text
from tilewright_server.lines import LineTable
from tilewright_server.positions import Encoding, to_units

_LARGEST_SPEC = 1024 * 1024
_LARGEST_FILE = 4 * 1024 * 1024
_MOST_FILES = 2000


def entry_place(problem: Problem, encoding: Encoding) -> types.Location | None:
    """Where the spec names its entry point; its start where it does so in another way."""
    path = Path(problem.path)
    if path.suffix not in SPEC_SUFFIXES:
        return None
    pattern = rf"\s*entry\s*:.*?({re.escape(problem.entry.name)})\b"
    return _first_match(path, pattern, _LARGEST_SPEC, encoding)


def functions_of_spec(
    spec: Path, text: str, encoding: Encoding, namesakes: Iterable[Path] = ()
) -> tuple[types.Location, ...]:
    """The function that a spec names in each file that the spec is for, the nearest first.

    Args:
        namesakes: files of the spec's stem elsewhere, whose spec it may be in a tree of specs.
    """
    named = re.search(r"^entry\s*:\s*([A-Za-z_]\w*)", text, re.MULTILINE)
    paths = dict.fromkeys((*_files(spec, text), *_in_trees(spec, namesakes)))
    name = named[1] if named else r"[A-Za-z_]\w*"  # the first function or class
    pattern = rf"(?:def|class)\s+({name})\b"
    places = (_first_match(path, pattern, _LARGEST_FILE, encoding) for path in paths)
    return tuple(place for place in places if place is not None)


def _first_match(
    path: Path, pattern: str, largest: int, encoding: Encoding
) -> types.Location | None:
    """The group of the first line that matches; the file's start where none does."""
    try:
        table = LineTable(utf8_text(path, largest))
    except InputError:
        return None
    for row in range(table.count):
        line = table.line(row)
        found = re.match(pattern, line)
        if found is not None:
            return _location(path, row, line, found.start(1), found.end(1), encoding)
    return _location(path, 0, "", 0, 0, encoding)


def _in_trees(spec: Path, namesakes: Iterable[Path]) -> list[Path]:
    """The files that find this spec in a tree, those with the longest path in common first."""

    def apart(path: Path) -> tuple[int, str]:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(path.parts, spec.parts, strict=False))
        return -sum(1 for _ in same), str(path)

    own = spec.resolve()
    found = (path for path in namesakes if any(one.resolve() == own for one in specs_of(path)))
    return sorted(found, key=apart)


def _files(spec: Path, text: str) -> Iterator[Path]:
    """The file of the spec's stem, then those that its ``files`` name.

    As for specs of files: they lie in its folder or in one directly below.
    """
    own = spec.with_suffix(".py")
    if own.is_file():
        yield own
    patterns = patterns_in(text, spec)
    if not patterns:
        return
    folder = spec.parent
    for path in sorted((*folder.glob("*.py"), *folder.glob("*/*.py")))[:_MOST_FILES]:
        name = path.relative_to(folder).as_posix()
        if any(fnmatch(name, pattern) for pattern in patterns):
            yield path


def _location(
    path: Path, row: int, line: str, start: int, end: int, encoding: Encoding
) -> types.Location:
    first = types.Position(row, to_units(line, start, encoding))
    last = types.Position(row, to_units(line, end, encoding))
    return types.Location(str(uris.from_fs_path(str(path))), types.Range(first, last))


def scripts_of(path: Path, text: str, roots: tuple[Path, ...]) -> tuple[tuple[str, ...], ...]:
    """Commands that probably launch a file's kernels: the file itself where it is a script or has
    tests, then the tests near it that name it."""
    found: list[tuple[str, ...]] = []
    if _has_tests(text):
        found.append(("python", "-m", "pytest", str(path)))
    if "__main__" in text:
        found.append(("python", str(path)))
    word = re.compile(rf"\b{re.escape(path.stem)}\b")
    for test in _tests_near(path, roots):
        try:
            mentioned = test != path and word.search(utf8_text(test, _LARGEST_FILE))
        except InputError:
            continue
        if mentioned:
            found.append(("python", "-m", "pytest", str(test)))
    return tuple(found)


def _has_tests(text: str) -> bool:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(n, ast.FunctionDef) and n.name.startswith("test_") for n in tree.body)


def _tests_near(path: Path, roots: tuple[Path, ...]) -> Iterator[Path]:
    """Test files of the file's folder, then of folders called ``tests`` above it, in the client's
    folders."""
    yield from sorted(path.parent.glob("test_*.py"))
    for folder in path.parents:
        if not any(root == folder or root in folder.parents for root in roots):
            return
        for name in ("tests", "test"):
            yield from sorted((folder / name).rglob("test_*.py"))[:_MOST_FILES]
