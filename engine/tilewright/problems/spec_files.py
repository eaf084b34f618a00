"""Where the spec of a source file and the reference of a spec lie."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from tilewright.errors import InputError
from tilewright.lru import LruDict
from tilewright.problems.nodes import read_text, read_yaml
from tilewright.textfile import in_roots

SPEC_SUFFIXES = (".yaml", ".yml")
FILES_KEY = "files"
"""The key of a spec that names its files where they are not one file of the spec's stem."""
_SPECS = ("AIBENCH_SPECS_DIR", "problems/specs")
_REFERENCES = ("AIBENCH_KERNELS_DIR", "third_party/KernelBench")
_LEAST_PARTS = 2
"""Of a problem's path: a file's name alone is too little to know it by."""
_PATTERNS: LruDict[tuple[str, int, int], tuple[str, ...]] = LruDict(1024)


def specs_of(source: Path) -> Iterator[Path]:
    """The specs that a source file may have, the nearest first."""
    for suffix in SPEC_SUFFIXES:
        spec = source.with_suffix(suffix)
        if spec.is_file():
            yield spec
    yield from _naming(source)
    for suffix in SPEC_SUFFIXES:
        yield from _counterparts(source, _SPECS, suffix)


def references_of(source: Path, spec: Path) -> Iterator[Path]:
    """The files that may hold an independent implementation, the nearest first."""
    for path in dict.fromkeys((source, spec)):
        beside = path.with_name(f"{path.stem}_pytorch.py")
        if beside.is_file():
            yield beside
    for found in _counterparts(spec, _REFERENCES, ".py"):
        if found.resolve() != source.resolve():
            yield found


def _naming(source: Path) -> Iterator[Path]:
    """The specs in the file's folder and in the one above whose ``files`` name it."""
    try:
        place = source.resolve()
    except (OSError, RuntimeError):  # links in a circle
        return
    for folder in (place.parent, place.parent.parent):
        if not in_roots(folder):
            continue
        name = place.relative_to(folder).as_posix()
        for spec in _yaml_files(folder):
            if any(fnmatch(name, pattern) for pattern in _patterns(spec)):
                yield spec


def _yaml_files(folder: Path) -> list[Path]:
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return []
    return [folder / name for name in names if name.endswith(SPEC_SUFFIXES)]


def _patterns(spec: Path) -> tuple[str, ...]:
    """What ``files`` of a YAML file says; nothing where it says nothing that can be read.

    The flaws of a spec are reported by the code that loads it; of other programs' YAML they are not
    ours to report.
    """
    try:
        stat = spec.stat()
    except OSError:
        return ()
    stamp = (str(spec), stat.st_mtime_ns, stat.st_size)
    patterns = _PATTERNS.get(stamp)
    if patterns is None:
        patterns = _read_patterns(spec)
        _PATTERNS.put(stamp, patterns)
    return patterns


def _read_patterns(spec: Path) -> tuple[str, ...]:
    try:
        return patterns_in(read_text(spec), spec)
    except InputError:
        return ()


def patterns_in(text: str, spec: Path) -> tuple[str, ...]:
    """What ``files`` of a spec's text says; nothing where it says nothing that can be read."""
    if f"{FILES_KEY}:" not in text:
        return ()
    try:
        root = read_yaml(text, str(spec))
        files = root.fields("the spec").get(FILES_KEY) if root.is_mapping else None
        if files is None:
            return ()
        nodes = files.elements(f"'{FILES_KEY}'") if files.is_list else [files]
        return tuple(node.word(f"'{FILES_KEY}'") for node in nodes)
    except InputError:
        return ()


def _counterparts(path: Path, tree: tuple[str, str], suffix: str) -> Iterator[Path]:
    """Files of a tree whose path in it is the end of this one's."""
    variable, folder = tree
    try:
        parts = path.resolve().with_suffix(suffix).parts
    except (OSError, RuntimeError):
        return
    named = os.environ.get(variable)
    trees = [Path(named)] if named else []
    trees += [Path(*parts[:end]) / folder for end in range(len(parts) - 1, 0, -1)]
    for root in trees:
        if not in_roots(root) or not root.is_dir():
            continue
        for start in range(1, len(parts) - _LEAST_PARTS + 1):
            found = root.joinpath(*parts[start:])
            if found.is_file():
                yield found
                return
