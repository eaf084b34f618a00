"""What ``torch.cuda`` or ``torch.xpu`` answer where the device is not: by nothing, or by another.

Host code asks these modules whether there is a device, waits for it, opens streams and records
events. Where there is no such device the answers are those of one; where another device computes
in its place, that device's own module answers.
"""

from __future__ import annotations

import ast
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
import triton
from triton.runtime import _allocation

KINDS = ("cuda", "xpu")
ASSUMED_MULTIPROCESSORS = 132
ASSUMED_SHARED_BYTES = 232_448
_ASSUMED_XE_CORES = 32
_XE_VECTOR_ENGINES = 8
_SPOKEN_OF = ("intel_extension_for_pytorch", "ipex")


@lru_cache(maxsize=64)
def written_for(path: str) -> str | None:
    """The kind of device that a file's host code names; the one named more often where it names
    both, None where it names neither."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    named = Counter(kind for node in ast.walk(tree) if (kind := _named_by(node)))
    return max(KINDS, key=lambda kind: named[kind]) if named else None


def _named_by(node: ast.AST) -> str | None:
    match node:
        case ast.keyword(arg="grf_mode") | ast.Constant("grf_mode"):
            kind = "xpu"  # an option of Intel's compiler alone
        case ast.Constant(str(text)):
            kind = text.partition(":")[0]
        case ast.Attribute(attr=name):
            kind = name.removeprefix("is_")
        case ast.Import(names=[ast.alias(name=name), *_]) | ast.ImportFrom(module=str(name)):
            kind = "xpu" if name.partition(".")[0] in _SPOKEN_OF else name.rpartition(".")[2]
        case _:
            return None
    return kind if kind in KINDS else None


class Asked:
    """Which device properties the host code read, so that the assumption can be reported."""

    def __init__(self, kind: str = "cuda") -> None:
        self.names: set[str] = set()
        self._kind = kind

    def notes(self) -> list[str]:
        """A sentence for a person if anything was assumed."""
        if not self.names:
            return []
        assumed = (
            f"{_ASSUMED_XE_CORES} Xe cores"
            if self._kind == "xpu"
            else f"{ASSUMED_MULTIPROCESSORS} multiprocessors"
        )
        return [f"the host code reads device properties; {assumed} were assumed"]


class Stream:
    """A stream in which nothing runs in parallel."""

    cuda_stream = sycl_queue = stream_id = device_index = priority = 0

    def __new__(cls, *given: Any, **options: Any) -> Stream:
        """Made like a stream; ``honesty`` notes who makes one."""
        return super().__new__(cls)

    def __init__(self, *given: Any, **options: Any) -> None:
        """Takes what a stream takes."""

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        """Ends no more than the block."""

    def query(self) -> bool:
        """All of it is done."""
        return True

    def synchronize(self) -> None:
        """There is nothing to wait for."""

    def wait_stream(self, stream: Any) -> None:
        """There is nothing to wait for."""

    def wait_event(self, event: Any) -> None:
        """There is nothing to wait for."""

    def record_event(self, event: Any = None) -> Any:
        """The event, recorded now."""
        event = event if event is not None else Event()
        event.record(self)
        return event


class Event:
    """An event on the CPU: what it times is the CPU's own time between two records."""

    def __new__(cls, *given: Any, **options: Any) -> Event:
        """Made like an event; ``honesty`` notes who makes one."""
        return super().__new__(cls)

    def __init__(self, *given: Any, **options: Any) -> None:
        self._at: float | None = None

    def record(self, stream: Any = None) -> None:
        """Remember the time."""
        self._at = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """There is nothing to wait for."""

    def synchronize(self) -> None:
        """There is nothing to wait for."""

    def query(self) -> bool:
        """It has happened."""
        return True

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds that the CPU took until ``end`` was recorded."""
        if self._at is None or end._at is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return 1e3 * (end._at - self._at)


def properties(kind: str, backend: str, arch: str, asked: Asked) -> Callable[..., Any]:
    """A function that gives a device's properties, and notes that somebody wanted them."""
    values = _of_xpu() if kind == "xpu" else _of_cuda(backend, arch)

    def answer(device: Any = None) -> Any:
        asked.names.add("properties")
        return values

    return answer


def _of_cuda(backend: str, arch: str) -> SimpleNamespace:
    major, minor = (int(arch[:-1]), int(arch[-1])) if arch.isdigit() else (9, 4)
    return SimpleNamespace(
        name=f"{backend}:{arch}", major=major, minor=minor,
        warp_size=64 if backend == "hip" else 32,
        multi_processor_count=ASSUMED_MULTIPROCESSORS, total_memory=80 << 30,
        L2_cache_size=50 << 20, gcnArchName=arch, regs_per_multiprocessor=65_536,
        max_threads_per_multi_processor=2048, shared_memory_per_block=49_152,
        shared_memory_per_block_optin=ASSUMED_SHARED_BYTES,
        shared_memory_per_multiprocessor=ASSUMED_SHARED_BYTES + 1024,
    )  # fmt: skip


def _of_xpu() -> SimpleNamespace:
    return SimpleNamespace(
        name="xpu", platform_name="xpu", type="gpu", driver_version="0", vendor="Intel",
        version="0", device_id=0, total_memory=32 << 30, max_compute_units=_ASSUMED_XE_CORES,
        gpu_eu_count=_XE_VECTOR_ENGINES * _ASSUMED_XE_CORES,
        gpu_subslice_count=_ASSUMED_XE_CORES, multi_processor_count=_ASSUMED_XE_CORES,
        max_work_group_size=1024, max_num_sub_groups=64, sub_group_sizes=[16, 32],
        local_mem_size=131_072, has_fp16=True, has_fp64=True, has_atomic64=True,
        has_bfloat16_conversions=True, has_subgroup_matrix_multiply_accumulate=True,
        has_subgroup_matrix_multiply_accumulate_tensor_float32=True,
        has_subgroup_2d_block_io=True, architecture=0,
    )  # fmt: skip


@contextlib.contextmanager
def nobody(kind: str, answer: Callable[..., Any]) -> Iterator[None]:
    """Answer the usual questions to ``torch.<kind>`` without a device.

    ``answer``: gives the device's properties.
    """
    stream = Stream()
    with _patched(kind, {**_constant(stream), **_random(), **_properties_api(kind, answer)}):
        yield


def _constant(stream: Stream) -> dict[str, Any]:
    answers: dict[str, Any] = {
        "is_available": True, "is_initialized": True, "device_count": 1, "current_device": 0,
        "is_bf16_supported": True, "is_current_stream_capturing": False,
        "current_stream": stream, "default_stream": stream, "utilization": 0,
        **dict.fromkeys((
            "synchronize", "set_device", "set_stream", "empty_cache", "init", "ipc_collect",
            "reset_peak_memory_stats", "reset_accumulated_memory_stats",
            "reset_max_memory_allocated", "set_per_process_memory_fraction",
        )),
        **dict.fromkeys((
            "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
        ), 0),
    }  # fmt: skip
    made: dict[str, Any] = {name: _always(value) for name, value in answers.items()}
    contexts = ("device", "device_of", "stream", "StreamContext")
    made |= {name: lambda *given, **named: contextlib.nullcontext() for name in contexts}
    made |= {name: lambda *given, **named: {} for name in ("memory_stats",)}
    return {**made, "Stream": Stream, "Event": Event}


def _always(value: Any) -> Callable[..., Any]:
    return lambda *given, **named: value


def _random() -> dict[str, Any]:
    """Random numbers come from the CPU's generator then."""
    generator = torch.default_generator

    def get_state(device: Any = None) -> torch.Tensor:
        return generator.get_state()

    def set_state(state: torch.Tensor, device: Any = None) -> None:
        generator.set_state(state)

    seeds = dict.fromkeys(("manual_seed", "manual_seed_all"), generator.manual_seed)
    return {
        **seeds, "seed": generator.seed, "seed_all": generator.seed,
        "initial_seed": generator.initial_seed,
        "get_rng_state": get_state, "set_rng_state": set_state,
    }  # fmt: skip


def _properties_api(kind: str, answer: Callable[..., Any]) -> dict[str, Any]:
    def name(device: Any = None) -> str:
        return str(answer().name)

    def capability(device: Any = None) -> Any:
        values = answer()
        return vars(values) if kind == "xpu" else (values.major, values.minor)

    def memory(device: Any = None) -> tuple[int, int]:
        total = int(answer().total_memory)
        return total, total

    return {
        "get_device_properties": answer, "get_device_name": name,
        "get_device_capability": capability, "mem_get_info": memory,
    }  # fmt: skip


@contextlib.contextmanager
def another(kind: str, place: str) -> Iterator[None]:
    """Have the device at ``place`` answer what host code asks of ``torch.<kind>``."""
    real = getattr(torch, place.partition(":")[0])
    lacking = _of_xpu() if kind == "xpu" else _of_cuda("cuda", "90")

    def forwarded(name: str) -> Any:
        if isinstance(getattr(real, name), type):
            return getattr(real, name)

        def forward(*given: Any, **named: Any) -> Any:
            named = {key: placed(value, place) for key, value in named.items()}
            return getattr(real, name)(*(placed(value, place) for value in given), **named)

        return forward

    def get_device_properties(device: Any = None) -> Any:
        own = real.get_device_properties(placed(device, place) if device is not None else place)
        known = {name: getattr(own, name) for name in dir(own) if not name.startswith("_")}
        return SimpleNamespace(**{**vars(lacking), **known})

    names = [name for name in dir(real) if name[0] != "_" and callable(getattr(real, name))]
    answers = {name: forwarded(name) for name in names}
    patched = _patched(kind, {**answers, "get_device_properties": get_device_properties})
    with patched, _launch_memory(place):
        yield


@contextlib.contextmanager
def _launch_memory(place: str) -> Iterator[None]:
    """Memory for what a launch needs of its own, such as a tensor descriptor on an NVIDIA GPU;
    host code for a device whose launches need none sets no allocator."""
    before = _allocation._allocator.get()
    triton.set_allocator(
        lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=place)
    )
    try:
        yield
    finally:
        triton.set_allocator(before)


@contextlib.contextmanager
def _patched(kind: str, answers: dict[str, Any]) -> Iterator[None]:
    module = getattr(torch, kind)
    general = {
        "current_accelerator": lambda check_available=False: torch.device(kind),
        "current_device_index": answers["current_device"],
        "current_device_idx": answers["current_device"],
        **{
            name: answers[name]
            for name in ("is_available", "device_count", "synchronize", "current_stream")
        },
    }
    with contextlib.ExitStack() as stack:
        for name, value in answers.items():
            stack.enter_context(mock.patch.object(module, name, value, create=True))
        for name, value in general.items() if hasattr(torch, "accelerator") else ():
            stack.enter_context(mock.patch.object(torch.accelerator, name, value, create=True))
        yield


def is_foreign(device: Any, place: str) -> bool:
    """Whether a device, or its name, is a GPU's of another kind than ``place``."""
    if isinstance(device, torch.device):
        kind = device.type
    elif isinstance(device, str):
        kind = device.partition(":")[0]
    else:
        return False
    return kind in KINDS and kind != place.partition(":")[0]


def placed(value: Any, place: str) -> Any:
    """``place`` where a foreign device is named; anything else as it is."""
    return torch.device(place) if is_foreign(value, place) else value
