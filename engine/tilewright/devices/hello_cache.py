"""What an interpreter's worker said of itself, kept on disk until its files are others."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path

from tilewright.devices.package import unchanged, worker_hash, write_atomically
from tilewright.home import home
from tilewright.worker.loading.import_stamps import stamp
from tilewright.worker.messages.envelope import Hello

_READ_AT_START = ("PYTHONPATH", "PYTHONHOME")


def known_hello(python: str) -> Hello | None:
    """The hello of this interpreter, if torch and triton are still the files they were."""
    try:
        kept = json.loads(_path(python).read_bytes())
        holds = unchanged(kept["files"])
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    found: Hello = kept["hello"]
    return found if holds and found.get("torch") else None


def keep_hello(python: str, hello: Hello) -> None:
    """Remember a hello of a worker that has torch."""
    files = {**hello.get("files", {}), python: stamp(python)}
    path = _path(python)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({"hello": hello, "files": files}).encode())


def _path(python: str) -> Path:
    parts = [
        str(Path(python).absolute()),
        worker_hash(),
        *(f"{name}={os.environ.get(name)}" for name in _READ_AT_START),
    ]
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return home() / "worker" / f"hello-{name}.json"
