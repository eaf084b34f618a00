"""Letting host code that was written for a GPU run where there is none.

Two degrees: ``no_driver`` answers what host code asks of ``torch.cuda`` and of Triton's driver
(synchronize, current device, properties); ``CudaOnCpu`` also turns requests for a CUDA tensor into
CPU tensors, for Triton's interpreter.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

ASSUMED_MULTIPROCESSORS = 132
_ASSUMED_SHARED_BYTES = 232_448
_MOST_USERS = 64


class Asked:
    """Which device properties the host code read, so that the assumption can be reported."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def notes(self) -> list[str]:
        """A sentence for a person if anything was assumed."""
        if not self.names:
            return []
        return [
            "the host code asked for device properties; "
            f"{ASSUMED_MULTIPROCESSORS} multiprocessors were assumed"
        ]


class _Properties(SimpleNamespace):
    """Device properties that note who asked."""


def _properties(backend: str, arch: str, asked: Asked) -> Callable[..., Any]:
    major, minor = (int(arch[:-1]), int(arch[-1])) if arch.isdigit() else (9, 4)
    values = _Properties(
        name=f"{backend}:{arch}", major=major, minor=minor,
        warp_size=64 if backend == "hip" else 32,
        multi_processor_count=ASSUMED_MULTIPROCESSORS, total_memory=80 << 30,
        L2_cache_size=50 << 20, gcnArchName=arch, regs_per_multiprocessor=65_536,
        max_threads_per_multi_processor=2048, shared_memory_per_block_optin=_ASSUMED_SHARED_BYTES,
    )  # fmt: skip

    def answer(device: Any = None) -> Any:
        asked.names.add("properties")
        return values

    return answer


@contextlib.contextmanager
def no_driver(backend: str = "cuda", arch: str = "90") -> Iterator[Asked]:
    """Answer the usual questions to ``torch.cuda`` and Triton's driver without a device."""
    asked = Asked()
    answer = _properties(backend, arch, asked)
    values = answer()
    asked.names.clear()
    stream = SimpleNamespace(
        cuda_stream=0, synchronize=lambda: None, wait_stream=lambda other: None, device_index=0
    )
    replaced: dict[str, Any] = {
        "is_available": lambda: True,
        "synchronize": lambda device=None: None,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "set_device": lambda device: None,
        "get_device_name": lambda device=None: values.name,
        "get_device_capability": lambda device=None: (values.major, values.minor),
        "get_device_properties": answer,
        "current_stream": lambda device=None: stream,
        "default_stream": lambda device=None: stream,
        "empty_cache": lambda: None,
        "device": lambda device=None: contextlib.nullcontext(),
        "device_of": lambda device=None: contextlib.nullcontext(),
        "stream": lambda stream=None: contextlib.nullcontext(),
    }
    with contextlib.ExitStack() as stack:
        for name, value in replaced.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, value))
        _pretend_triton_driver(backend, arch, asked)
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
    with untouched, fake_tensor.FakeTensorMode(allow_non_fake_inputs=True):
        yield


def moved(value: Any, device: str, dtype: torch.dtype | None = None) -> Any:
    """A tensor or a module on a device, its floats in a dtype; fake ones also where this torch
    knows no such device, which ``to`` asks for."""
    from torch._subclasses.fake_tensor import FakeTensor

    if not isinstance(torch.empty(0), FakeTensor):
        return value.to(device=device, dtype=dtype)
    if not isinstance(value, torch.nn.Module):
        return _moved(value, device, dtype)
    for module in value.modules():
        for name, one in module._parameters.items():
            if one is not None:
                held = _moved(one, device, dtype)
                module._parameters[name] = torch.nn.Parameter(held, one.requires_grad)
        for name, kept in module._buffers.items():
            module._buffers[name] = _moved(kept, device, dtype) if kept is not None else None
    return value


def _moved(tensor: torch.Tensor, device: str, dtype: torch.dtype | None) -> torch.Tensor:
    kept = dtype if dtype is not None and tensor.is_floating_point() else tensor.dtype
    return torch.empty_strided(tensor.shape, tensor.stride(), device=device, dtype=kept)


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


def _pretend_triton_driver(backend: str, arch: str, asked: Asked) -> None:
    from triton.backends.compiler import GPUTarget
    from triton.runtime.driver import driver

    def device_properties(device: int = 0) -> dict[str, int]:
        asked.names.add("properties")
        return {
            "multiprocessor_count": ASSUMED_MULTIPROCESSORS,
            "max_shared_mem": _ASSUMED_SHARED_BYTES,
            "max_num_regs": 65_536,
            "warpSize": 64 if backend == "hip" else 32,
            "sm_clock_rate": 1_980_000,
            "mem_clock_rate": 2_619_000,
            "mem_bus_width": 5120,
        }

    target = GPUTarget(
        backend, int(arch) if arch.isdigit() else arch, 64 if backend == "hip" else 32
    )
    pretended = SimpleNamespace(
        get_current_target=lambda: target,
        get_current_device=lambda: 0,
        get_current_stream=lambda device=0: 0,
        set_current_device=lambda device: None,
        get_active_torch_device=lambda: torch.device("cuda", 0),
        get_device_capability=lambda device=0: (int(arch[:-1]), int(arch[-1])),
        get_device_properties=device_properties,
        get_device_interface=lambda: torch.cuda,
        utils=SimpleNamespace(get_device_properties=device_properties),
    )
    # Not taken back: resetting would build the real driver, and a job's process ends with its job.
    driver.set_active(pretended)


class CudaOnCpu(TorchFunctionMode):
    """Create CPU tensors where host code asks for CUDA ones; also ``.cuda()`` and ``is_cuda``."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.cuda:
            return args[0]
        if _on_gpu(kwargs.get("device")):
            kwargs["device"] = torch.device("cpu")
        if func is torch.Tensor.to:
            args = tuple(torch.device("cpu") if _on_gpu(value) else value for value in args)
        return func(*args, **kwargs)


@contextlib.contextmanager
def tensors_claim_cuda() -> Iterator[None]:
    """Let ``x.is_cuda`` be true of every tensor: wrappers assert it and mean nothing by it."""
    torch.Tensor.is_cuda = property(lambda tensor: True)  # type: ignore[assignment]
    try:
        yield
    finally:
        del torch.Tensor.is_cuda


def _on_gpu(device: Any) -> bool:
    if isinstance(device, torch.device):
        return device.type in ("cuda", "xpu")
    return isinstance(device, str) and device.split(":")[0] in ("cuda", "xpu")
