"""``probe``: what runs here, on what, and how far a job is confined."""

from __future__ import annotations

import platform
from typing import Any

import torch
import triton

from .. import landlock


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """Versions, devices and confinement; opens the device driver, in this process alone."""
    confinement = job["confinement"]
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "devices": [*_cuda_devices(), *_xpu_devices()],
        "landlock": confinement["landlock"],
        "tcp_denied": confinement["landlock"] > 0 and landlock.denies_tcp(),
        "netns": confinement["netns"],
    }


def _cuda_devices() -> list[dict[str, Any]]:
    if not torch.cuda.is_available():
        return []
    hip = torch.version.hip is not None
    found = []
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        arch = f"{properties.major}{properties.minor}"
        if hip:
            arch = properties.gcnArchName.partition(":")[0]
        found.append(_device(f"cuda:{index}", "hip" if hip else "cuda", arch, properties))
    return found


def _xpu_devices() -> list[dict[str, Any]]:
    if not hasattr(torch, "xpu") or not torch.xpu.is_available():
        return []
    found = []
    for index in range(torch.xpu.device_count()):
        properties = torch.xpu.get_device_properties(index)
        arch = str(getattr(properties, "architecture", "") or properties.name)
        found.append(_device(f"xpu:{index}", "xpu", arch, properties))
    return found


def _device(name: str, backend: str, arch: str, properties: Any) -> dict[str, Any]:
    cores = getattr(properties, "multi_processor_count", None)
    return {
        "id": name,
        "backend": backend,
        "name": properties.name,
        "arch": arch,
        "memory_bytes": properties.total_memory,
        "multiprocessors": cores or getattr(properties, "gpu_subslice_count", None),
        "l2_bytes": getattr(properties, "L2_cache_size", None),
    }
