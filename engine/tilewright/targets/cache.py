"""What compilers said, on disk, under keys of all that it depends on.

One JSON file each, the oldest dropped when there are too many.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import random
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from tilewright.devices.package import unchanged, worker_hash, write_atomically
from tilewright.home import home
from tilewright.python_syntax import parse
from tilewright.serialize import dump
from tilewright.targets.model import LaunchFacts, Target

MAX_REPORTS = 8192
MAX_TEXTS = 512
MAX_TEXT_BYTES = 256_000_000
_PRUNE_EVERY = 64
_MARGIN = 0.9
# Variables that compilers read. What reaches them, `worker/sandbox/environment.py` decides.
_COMPILERS_READ = ("TRITON_", "AMDGCN_", "LLVM_", "MLIR_", "IGC_", "DISABLE_", "ENABLE_TMA")
_NOT_READ = frozenset({"TRITON_CACHE_DIR", "TRITON_HOME", "TRITON_INTERPRET"})
_REMEMBERED = 4096


class ReportCache:
    """Reports by key, below ``$TILEWRIGHT_HOME/compile``; safe for several processes at once.

    A report whose ``depends`` (files and their stamps) names a file that is another one by now is
    not given back: what a module imports from elsewhere is in no key.

    Args:
        max_bytes: bounds all files together.
        prune_every: how many writes lie, on average, between two looks at all the files, whichever
            processes they come from.
    """

    def __init__(
        self,
        folder: Path | None = None,
        limit: int = MAX_REPORTS,
        max_bytes: int | None = None,
        prune_every: int = _PRUNE_EVERY,
    ) -> None:
        self._folder = folder or home() / "compile"
        self._limit = limit
        self._max_bytes = max_bytes
        self._prune_every = prune_every
        # Somewhere in the round: most processes write a few reports and end.
        self._writes = random.randrange(prune_every)

    def get(self, key: str) -> dict[str, Any] | None:
        """The report stored under ``key``; None if there is none, or it cannot be used."""
        try:
            value = json.loads(self._path(key).read_bytes())
        except (OSError, ValueError):
            return None
        return value if isinstance(value, dict) and _still_holds(value) else None

    def put(self, key: str, report: dict[str, Any]) -> None:
        """Store a report."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(report).encode())
        self._writes += 1
        if self._writes % self._prune_every == 0:
            self._prune()

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"

    def _prune(self) -> None:
        """Keep the newest; once a bound is passed, somewhat less than it allows."""
        files = list(_files(self._folder))
        total = sum(size for _, _, size in files)
        most = total + 1 if self._max_bytes is None else self._max_bytes
        if len(files) <= self._limit and total <= most:
            return
        limit, most, total = int(self._limit * _MARGIN), int(most * _MARGIN), 0
        for number, (path, _, size) in enumerate(sorted(files, key=itemgetter(1), reverse=True)):
            total += size
            if number >= limit or total > most:
                Path(path).unlink(missing_ok=True)


def text_cache(folder: Path | None = None) -> ReportCache:
    """Where the stages' texts are kept, which are much larger than reports."""
    return ReportCache(folder or home() / "stages", MAX_TEXTS, MAX_TEXT_BYTES, prune_every=8)


def _still_holds(value: dict[str, Any]) -> bool:
    depends = value.get("depends") or {}
    return isinstance(depends, dict) and unchanged(depends)


def _files(folder: Path) -> Iterator[tuple[str, float, int]]:
    """(path, when it was written, its size) of each report."""
    for part in _entries(folder):
        for entry in _entries(part.path):
            if entry.name.endswith(".json"):
                try:
                    found = entry.stat()
                except OSError:
                    continue
                yield entry.path, found.st_mtime, found.st_size


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def cache_key(
    compilers: str, module_path: str, launch: LaunchFacts, target: Target, shared_limit: int | None
) -> str:
    """Everything a report depends on: sources, launch, target, compilers, worker, readers."""
    launched = json.dumps(dump(launch), sort_keys=True)
    parts = (launched, str(target), str(shared_limit), compilers, _readers_hash())
    return content_key(module_path, parts)


def content_key(module_path: str, parts: Iterable[str]) -> str:
    """A key of a module's text, of the modules beside it that it imports, of the worker that reads
    them, and of ``parts``."""
    every = [_sources_hash(Path(module_path)), *parts, worker_hash(), *_environment()]
    return hashlib.sha256("\0".join(every).encode()).hexdigest()


def _environment() -> list[str]:
    """The variables that change what compilers make of a text, as they are set."""
    return sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith(_COMPILERS_READ) and name not in _NOT_READ
    )


def readers() -> tuple[Path, ...]:
    """The code that makes a report of compilers' texts."""
    here = Path(__file__).parent
    names = ("compilation.py", "error_hints.py", "line_report.py", "model.py")
    return (*sorted(here.glob("assembly/*.py")), *(here / name for name in names))


@cache
def _readers_hash() -> str:
    """Hash of the readers: what they said before is not said again once they read otherwise."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in readers())).hexdigest()


def _sources_hash(path: Path) -> str:
    """Hash of a module and of the modules beside it that it imports, directly or not."""
    digest = hashlib.sha256()
    waiting, seen = [path], {path}
    while waiting:
        content, imported = _read(waiting.pop())
        digest.update(content.encode())
        for name in imported:
            beside = path.parent / f"{name}.py"
            if beside not in seen and beside.is_file():
                seen.add(beside)
                waiting.append(beside)
    return digest.hexdigest()


def _read(path: Path) -> tuple[str, tuple[str, ...]]:
    found = path.stat()
    return _read_once(str(path), (found.st_ino, found.st_mtime_ns, found.st_size))


@lru_cache(_REMEMBERED)
def _read_once(path: str, stamp: tuple[int, ...]) -> tuple[str, tuple[str, ...]]:
    """(hash of a file, names it imports), read once for each state that the file is in."""
    del stamp
    data = Path(path).read_bytes()
    names = sorted(_imported(data.decode("utf-8", "replace")))
    return hashlib.sha256(data).hexdigest(), tuple(names)


def _imported(text: str) -> set[str]:
    try:
        tree = parse(text)
    except (SyntaxError, ValueError):
        return set()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names
