"""Names of compile reports in the cache, and what else a report depends on."""

import ast
import hashlib
import json
import os
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

from tilewright.devices.package import worker_hash
from tilewright.python_syntax import parse
from tilewright.serialize import dump
from tilewright.targets.model import LaunchFacts, Target

# Variables that compilers read. What reaches them, `worker/sandbox/environment.py` decides.
_READ = ("TRITON_", "AMDGCN_", "LLVM_", "MLIR_", "IGC_", "DISABLE_", "ENABLE_TMA")
_NOT_READ = frozenset({"TRITON_CACHE_DIR", "TRITON_HOME", "TRITON_INTERPRET"})
_REMEMBERED = 4096


def cache_key(
    compilers: str, module_path: str, launch: LaunchFacts, target: Target, shared_limit: int | None
) -> str:
    """Everything a report depends on: sources, launch, target, compilers, the worker itself."""
    launched = json.dumps(dump(launch), sort_keys=True)
    return content_key(module_path, (launched, str(target), str(shared_limit), compilers))


def content_key(module_path: str, parts: Iterable[str]) -> str:
    """A key of a module's text, of the modules next to it that it imports, and of ``parts``."""
    every = [
        _sources_hash(Path(module_path)),
        *parts,
        worker_hash(),
        reader_hash(),
        *_environment(),
    ]
    return hashlib.sha256("\0".join(every).encode()).hexdigest()


def _environment() -> list[str]:
    """The variables that change what compilers make of a text, as they are set."""
    return sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith(_READ) and name not in _NOT_READ
    )


@cache
def reader_hash() -> str:
    """Of the code that makes a report of what a worker answers."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    readers = sorted((here / "assembly").glob("*.py"))
    for path in (*readers, here / "line_report.py", here / "model.py"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources_hash(path: Path) -> str:
    """Hash of a module and of the modules next to it that it imports, directly or not."""
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
