"""Names of compile reports in the cache."""

import ast
import hashlib
import json
import os
from pathlib import Path

from tilewright.devices.package import worker_hash
from tilewright.python_syntax import parse
from tilewright.serialize import dump
from tilewright.targets.model import LaunchFacts, Target

_ENVIRONMENT = ("TRITON_PTXAS_PATH", "TRITON_DEFAULT_FP_FUSION", "DISABLE_PTXAS_OPT")


def cache_key(
    compilers: str, module_path: str, launch: LaunchFacts, target: Target, shared_limit: int | None
) -> str:
    """Everything a report depends on: sources, launch, target, compilers, the worker itself."""
    parts = [
        _sources_hash(Path(module_path)),
        json.dumps(dump(launch), sort_keys=True),
        str(target),
        str(shared_limit),
        compilers,
        worker_hash(),
        *(f"{name}={os.environ.get(name)}" for name in _ENVIRONMENT),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _sources_hash(path: Path) -> str:
    """Hash of a module and of the modules beside it that it imports, directly or not."""
    digest = hashlib.sha256()
    waiting, seen = [path], {path}
    while waiting:
        current = waiting.pop()
        text = current.read_text(encoding="utf-8", errors="replace")
        digest.update(text.encode())
        for name in sorted(_imported(text)):
            beside = path.parent / f"{name}.py"
            if beside not in seen and beside.is_file():
                seen.add(beside)
                waiting.append(beside)
    return digest.hexdigest()


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
