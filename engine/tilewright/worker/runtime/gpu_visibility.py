"""Leaving a process one GPU to see: it is the first there is, whatever its number on the host.

Code under test says ``device="cuda"`` and means the current device, launches by Triton go to the
current device, and a GPU that is not seen cannot be touched. Drivers read these variables when they
are opened, which a worker never does before it forks.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..messages.envelope import Job

_NVIDIA, _AMD, _INTEL = "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"


def alone(job: Job[Any]) -> Job[Any]:
    """Show this process the job's GPU alone; the job with the GPU's new name in its stead.

    A job that names no GPU, or one that a variable of the user's does not list, stays as it is.
    """
    device = str(job.get("device", ""))
    kind, _, number = device.partition(":")
    variable = _variable(kind)
    if variable is None or not number.isdigit():
        return job
    listed = [part.strip() for part in _listed(variable).split(",") if part.strip()]
    if listed and int(number) >= len(listed):
        return job
    if variable == _AMD:
        os.environ.pop(_NVIDIA, None)
    os.environ[variable] = listed[int(number)] if listed else number
    renamed: Job[Any] = _renamed(job, device, f"{kind}:0")
    return renamed


def _variable(kind: str) -> str | None:
    """What the driver of torch's ``kind`` of device reads."""
    if kind == "xpu":
        return _INTEL
    if kind != "cuda":
        return None
    version = getattr(sys.modules.get("torch"), "version", None)
    return _AMD if getattr(version, "hip", None) else _NVIDIA


def _listed(variable: str) -> str:
    """What the user lets be seen; AMD's runtime also goes by NVIDIA's variable."""
    own = os.environ.get(variable)
    if own is None and variable == _AMD:
        own = os.environ.get(_NVIDIA)
    return own or ""


def _renamed(value: Any, device: str, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(part, device, name) for key, part in value.items()}
    if isinstance(value, list):
        return [_renamed(part, device, name) for part in value]
    return name if value == device else value
