"""What an interpreter's worker said of itself and of its GPUs, kept on disk.

Of itself: until its files are others. Of GPUs: until the system was started again, its device nodes
or drivers are others, or other GPUs are made visible.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from tilewright.devices.package import unchanged, worker_hash, write_atomically
from tilewright.home import home
from tilewright.worker.loading.import_stamps import stamp
from tilewright.worker.messages.envelope import Hello
from tilewright.worker.messages.jobs import Gpu

_READ_AT_START = ("PYTHONPATH", "PYTHONHOME")
_NODES = ("dev/nvidia*", "dev/nvidia-caps/*", "dev/kfd", "dev/dri/*", "dev/accel/*")
_PARTITIONS = "proc/driver/nvidia/capabilities/*/mig/*"
_STARTED = "proc/sys/kernel/random/boot_id"
_DRIVERS = tuple(f"sys/module/{name}/version" for name in ("nvidia", "amdgpu", "i915", "xe"))
_MAKES_VISIBLE = re.compile("(CUDA|NVIDIA|HIP|HSA|ROCR|GPU|ZE|ONEAPI)_.*")


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


def known_gpus(python: str) -> list[Gpu] | None:
    """The GPUs that this interpreter's worker saw, if the system has the same devices."""
    try:
        kept = json.loads(_path(python, "gpus").read_bytes())
        found: list[Gpu] = kept["gpus"]
        return found if kept["system"] == _system() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep_gpus(python: str, gpus: list[Gpu]) -> None:
    """Remember what a worker saw. None seen where there are device nodes may be a driver's state
    of a moment, and is not kept."""
    if not gpus and _there(_NODES):
        return
    path = _path(python, "gpus")
    with contextlib.suppress(OSError):
        write_atomically(path, json.dumps({"gpus": gpus, "system": _system()}).encode())


def _system() -> list[str]:
    """What says which GPUs a process can see."""
    found = [str(path) for path in _there((*_NODES, _PARTITIONS))]
    for path in _there((_STARTED, *_DRIVERS)):
        with contextlib.suppress(OSError):
            found.append(f"{path}: {path.read_text(errors='replace').strip()}")
    return found + sorted(f"{n}={v}" for n, v in os.environ.items() if _MAKES_VISIBLE.fullmatch(n))


def _there(patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(Path("/").glob(pattern))]


def _path(python: str, what: str = "hello") -> Path:
    parts = [
        str(Path(python).absolute()),
        worker_hash(),
        *(f"{name}={os.environ.get(name)}" for name in _READ_AT_START),
    ]
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return home() / "worker" / f"{what}-{name}.json"
