"""Letting host code that was written for a GPU run where there is none.

``no_driver`` answers what host code asks of ``torch.cuda`` or ``torch.xpu`` and of Triton's driver
(synchronize, current device, properties); ``fake_tensors`` have no memory. ``placement`` has where
tensors are put.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from . import device_api
from .device_api import Asked

_MOST_USERS = 64
_XPU = {"name": "xpu", "vendor": "Intel"}


@contextlib.contextmanager
def no_driver(backend: str = "cuda", arch: str = "90", kind: str = "") -> Iterator[Asked]:
    """Answer the usual questions to ``torch.cuda`` and Triton's driver without a device.

    ``kind``: of the device that host code asks, by default the backend's own.
    """
    kind = kind or ("xpu" if backend == "xpu" else "cuda")
    asked = Asked(kind)
    answer = device_api.properties(kind, backend, arch, asked)
    with device_api.nobody(kind, answer):
        _pretend_triton_driver(backend, arch, kind, asked)
        yield asked


@contextlib.contextmanager
def fake_tensors() -> Iterator[None]:
    """Tensors of any device without memory; the device itself is not touched."""
    from torch._subclasses import fake_tensor

    def leave_alone(*given: Any) -> None:
        """Stands in for the first allocation that opens a device."""

    untouched = (
        mock.patch.object(fake_tensor, "init_gpu_context", leave_alone)
        if hasattr(fake_tensor, "init_gpu_context")
        else contextlib.nullcontext()
    )
    swapped = mock.patch.object(torch.utils, "swap_tensors", _give_contents)
    with untouched, swapped, fake_tensor.FakeTensorMode(allow_non_fake_inputs=True):
        yield


def _give_contents(tensor: torch.Tensor, other: torch.Tensor) -> None:
    """A module that is moved swaps its parameters, which fake tensors do not bear."""
    tensor.data = other


def warm_up() -> None:
    """Pay for what the first fake tensor of a process imports, where that is safe.

    Fake tensors ask whether there is a GPU. Asking may open the driver, and a process that has
    done so can no longer fork children that use it. NVML answers without opening it; where there
    may be a GPU that NVML does not count (there is no NVML, or parts of a GPU are what is visible),
    each capture pays for itself. What NVML holds is let go of again: children would share it.
    """
    library = _nvml()
    if not _may_have_gpu() or (library is not None and _counted_by_nvml()):
        with mock.patch.dict(os.environ, {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}), fake_tensors():
            torch.empty((2, 2)).float().sum()
    # It counts how often it was initialized, and refuses once it is not.
    for _ in range(_MOST_USERS):
        if library is None or library.nvmlShutdown() != 0:
            return


def _counted_by_nvml() -> bool:
    """Whether torch learns of the GPUs from NVML; it asks the driver itself where this fails."""
    count = getattr(torch.cuda, "_device_count_nvml", None)
    return torch.version.hip is None and count is not None and int(count()) >= 0


def _may_have_gpu() -> bool:
    nodes = ("nvidia*", "kfd", "dri/render*", "dxg")
    return any(next(Path("/dev").glob(node), None) is not None for node in nodes)


def _nvml() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None


def _pretend_triton_driver(backend: str, arch: str, kind: str, asked: Asked) -> None:
    from triton.backends.compiler import GPUTarget
    from triton.runtime.driver import driver

    def device_properties(device: int = 0) -> dict[str, int]:
        asked.names.add("properties")
        return {
            "multiprocessor_count": device_api.ASSUMED_MULTIPROCESSORS,
            "max_shared_mem": device_api.ASSUMED_SHARED_BYTES,
            "max_num_regs": 65_536,
            "warpSize": 64 if backend == "hip" else 32,
            "sm_clock_rate": 1_980_000,
            "mem_clock_rate": 2_619_000,
            "mem_bus_width": 5120,
        }

    def capability(device: int = 0) -> Any:
        return getattr(torch, kind).get_device_capability()

    chip: Any = _XPU if backend == "xpu" else int(arch) if arch.isdigit() else arch
    target = GPUTarget(backend, chip, 64 if backend == "hip" else 32)
    pretended = SimpleNamespace(
        get_current_target=lambda: target,
        get_current_device=lambda: 0,
        get_current_stream=lambda device=0: 0,
        set_current_device=lambda device: None,
        get_active_torch_device=lambda: torch.device(kind, 0),
        get_device_capability=capability,
        get_device_properties=device_properties,
        get_device_interface=lambda: getattr(torch, kind),
        utils=SimpleNamespace(get_device_properties=device_properties),
    )
    # Not taken back: resetting would build the real driver, and a job's process ends with its job.
    driver.set_active(pretended)
