"""Paths of a file's spec and reference: next to it, or in AI Bench's folders.

AI Bench keeps three trees apart, in which a problem has one path, such as
``KernelBench/level2/99_Matmul_GELU_Softmax``: its spec below ``problems/specs``, its modules in
torch below ``third_party/KernelBench``, its kernels elsewhere. Its own environment variables may
name the first two.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from tilewright.textfile import in_roots

SPEC_SUFFIXES = (".yaml", ".yml")
_SPECS = ("AIBENCH_SPECS_DIR", "problems/specs")
_REFERENCES = ("AIBENCH_KERNELS_DIR", "third_party/KernelBench")
_LEAST_PARTS = 2
"""Of a problem's path: a file's name alone is too little to know it by."""


def specs_of(source: Path) -> Iterator[Path]:
    """The specs that a source file may have, the nearest first."""
    for suffix in SPEC_SUFFIXES:
        spec = source.with_suffix(suffix)
        if spec.is_file():
            yield spec
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
