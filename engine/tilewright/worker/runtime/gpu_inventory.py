"""The GPUs of this host as torch sees them, their drivers, who uses them, and profilers.

One code for NVIDIA, AMD and Intel: torch calls the first two ``cuda`` and the last ``xpu``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import triton

if TYPE_CHECKING:
    from ..messages.jobs import Gpu, Owner

KINDS = ("cuda", "xpu")
_BACKENDS = {"cuda": "nvidia", "hip": "amd", "xpu": "intel"}
_ASK_S = 10.0
# A profiler's program, and where its vendor puts it when it is not on the path.
_PROGRAMS = {
    "ncu": ("usr/local/cuda/bin/ncu", "opt/nvidia/nsight-compute/*/ncu"),
    "rocprofv3": ("opt/rocm/bin/rocprofv3",),
    "rocprof": ("opt/rocm/bin/rocprof",),
    "unitrace": ("opt/intel/oneapi/*/bin/unitrace",),
}


def gpus(*, details: bool = False) -> list[Gpu]:
    """What each GPU is; with ``details`` also what it is doing, which opens it."""
    users = _users() if details else None
    return [found for kind in KINDS for found in _of_kind(kind, users, details)]


def _of_kind(kind: str, users: dict[str, list[Owner]] | None, details: bool) -> Iterator[Gpu]:
    api = getattr(torch, kind, None)
    if api is None or not api.is_available():
        return
    for index in range(api.device_count()):
        properties = api.get_device_properties(index)
        backend = "hip" if kind == "cuda" and torch.version.hip else kind
        found = _described(f"{kind}:{index}", backend, properties)
        if details:
            found |= {
                "free_bytes": _free_bytes(api, index),
                "driver": _driver(backend, properties),
                "users": users.get(_uuid(properties), []) if users is not None else None,
                "can_run": _BACKENDS[backend] in active_backends(),
            }
        yield found


def _described(name: str, backend: str, properties: Any) -> Gpu:
    cores = getattr(properties, "multi_processor_count", None)
    return {
        "id": name,
        "backend": backend,
        "name": properties.name,
        "arch": _arch(backend, properties),
        "memory_bytes": properties.total_memory,
        "multiprocessors": cores or getattr(properties, "gpu_subslice_count", None),
        "l2_bytes": getattr(properties, "L2_cache_size", None),
    }


def _arch(backend: str, properties: Any) -> str:
    if backend == "hip":
        return str(properties.gcnArchName).partition(":")[0]
    if backend == "cuda":
        return f"{properties.major}{properties.minor}"
    return str(getattr(properties, "architecture", "") or properties.name)


def active_backends() -> list[str]:
    """Triton's backends that would take over here: "nvidia", "amd", "intel"."""
    from triton.backends import backends

    return [name for name, one in backends.items() if one.driver.is_active()]


def _free_bytes(api: Any, index: int) -> int | None:
    try:
        return int(api.mem_get_info(index)[0])
    except (RuntimeError, AttributeError):
        return None


def _driver(backend: str, properties: Any) -> str | None:
    """The kernel driver's version, as its vendor tells it."""
    if backend == "xpu":
        return str(getattr(properties, "driver_version", "")) or None
    path = "/proc/driver/nvidia/version" if backend == "cuda" else "/sys/module/amdgpu/version"
    try:
        text = Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return _smi_output("nvidia-smi", "driver_version", "gpu") if backend == "cuda" else None
    if backend == "hip":
        return text.strip()
    found = re.search(r"\d+\.\d+(?:\.\d+)?", text)
    return found[0] if found else None


def _uuid(properties: Any) -> str:
    return str(getattr(properties, "uuid", ""))


def _users() -> dict[str, list[Owner]] | None:
    """Processes on each NVIDIA GPU, by its UUID; None where nothing here can tell."""
    said = _smi_output("nvidia-smi", "gpu_uuid,pid,used_memory", "compute-apps", every=True)
    if said is None:
        return None
    found: dict[str, list[Owner]] = {}
    for line in said.splitlines():
        uuid, pid, used = (part.strip() for part in line.split(","))
        user: Owner = {"pid": int(pid), "memory_bytes": int(used) << 20 if used.isdigit() else None}
        found.setdefault(uuid.removeprefix("GPU-"), []).append(user)
    return found


def _smi_output(program: str, fields: str, about: str, *, every: bool = False) -> str | None:
    """What ``nvidia-smi`` answers, its first line or every one; None where it does not."""
    path = shutil.which(program)
    if path is None:
        return None
    command = [path, f"--query-{about}={fields}", "--format=csv,noheader,nounits"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if ran.returncode != 0:
        return None
    return ran.stdout if every else ran.stdout.partition("\n")[0].strip()


def profilers() -> dict[str, str]:
    """Profilers that are there: where their program is, or the version they come with."""
    found = {name: path for name in _PROGRAMS if (path := _program(name)) is not None}
    if importlib.util.find_spec("triton.profiler") is not None:
        found["proton"] = f"triton {triton.__version__}"
    return found


def _program(name: str, which: Callable[[str], str | None] = shutil.which) -> str | None:
    places = (file for place in _PROGRAMS[name] for file in Path("/").glob(place))
    return which(name) or next((str(file) for file in places if os.access(file, os.X_OK)), None)
