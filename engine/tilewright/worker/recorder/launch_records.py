"""A launch of the user's process as a record: what was given, where from, what was written."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import mmap
import os
import struct
import textwrap
import threading
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import triton
from triton.runtime.jit import KernelParam

from ..inputs import tensor_files as tensors
from ..launches import hooks
from . import tensor_contents, variables

_DEFAULT_LIMIT = 64
_MOST_COMPARED_BYTES = 1 << 30
# Every allocator of torch gives at least this much; more of it would tell equal launches apart.
_MOST_ALIGNMENT = 64
# What looking at a user's objects may raise: their launch goes on, and a note says what is lost.
_ODD = (
    RuntimeError, TypeError, ValueError, AttributeError, LookupError, OSError, AssertionError,
    NotImplementedError, ArithmeticError,
)  # fmt: skip
MOST_RECORDS = 8192
_COUNTER = struct.Struct("<Q")


class Seen:
    """One launch under way: its counter, and what its tensors held if that is asked."""

    def __init__(self, slot: int, before: dict[str, Any], tensors: dict[str, Any]) -> None:
        self.slot = slot
        self.before = before
        self.tensors = tensors


class Recorder:
    """Records each distinct launch of this process once, and counts all of them."""

    def __init__(self) -> None:
        self._part = Part(variables.folder())
        self._lock = threading.Lock()
        self._slots: dict[str, int | None] = {}
        self._distinct: dict[str, int] = {}
        self._kernels: dict[int, Any] = {}
        self._limit = int(os.environ.get(variables.LIMIT) or _DEFAULT_LIMIT)
        self._writes = bool(os.environ.get(variables.WRITES))
        self._values = bool(os.environ.get(variables.VALUES))

    def begin_launch(
        self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tuned: str | None,
        interpreted: bool,
    ) -> tuple[Seen | None, dict[str, Any]]:  # fmt: skip
        """What is remembered until the launch is over, and its keywords with the grid evaluated."""
        try:
            known = self._known(kernel, interpreted)
            passed = {k: v for k, v in kwargs.items() if k not in ("grid", "warmup")}
            bound, options = hooks.bind(known, args, passed)
            bound = {name: _as_tensor(value) for name, value in bound.items()}
            grid, reads = _evaluated(kwargs["grid"], bound)
            record = _record(known, bound, options, grid) | {"grid_reads": reads}
            record |= {"tuned": tuned, "interpreted": interpreted, **_where(bound, interpreted)}
            return self._remember(record, bound), {**kwargs, "grid": grid}
        except _ODD as error:
            self._note(kernel, f"{type(error).__name__}: {error}")
            return None, kwargs

    def end_launch(self, seen: Seen | None, failure: str | None = None) -> None:
        """Count it; say what it wrote, or how it failed."""
        if seen is None:
            return
        with self._lock:
            self._part.count(seen.slot)
        if failure is not None:
            self._part.tell({"of": seen.slot, "failure": failure[:500]})
        elif seen.before:
            try:
                written = [
                    name
                    for name, held in seen.before.items()
                    if not _same_bits(held, tensor_contents.cpu_copy(seen.tensors[name]))
                ]
            except _ODD as error:
                self._part.tell({"of": seen.slot, "not_compared": str(error)[:200]})
                return
            compared = sorted(seen.before)
            self._part.tell({"of": seen.slot, "written": written, "compared": compared})

    def _known(self, kernel: Any, interpreted: bool) -> Any:
        """The kernel with its parameters and where it stands, looked up once."""
        if id(kernel) not in self._kernels:
            params = _interpreted_params(kernel) if interpreted else kernel.params
            known = SimpleNamespace(fn=kernel.fn, params=params, source=_source(kernel.fn))
            self._kernels[id(kernel)] = (kernel, known)
        return self._kernels[id(kernel)][1]

    def _remember(self, record: dict[str, Any], bound: dict[str, Any]) -> Seen | None:
        key = json.dumps(record, sort_keys=True)
        with self._lock:
            fresh = key not in self._slots
            if fresh:
                self._slots[key] = self._slot(record)
            slot = self._slots[key]
        if slot is None:
            return None
        given = {k: v for k, v in bound.items() if isinstance(v, torch.Tensor)}
        if not fresh:
            return Seen(slot, {}, given)
        held = self._tensor_contents(given)
        told = tensor_contents.contents(held, floats=self._values)
        self._part.tell({"of": slot, "contents": told, "site": tensor_contents.site()})
        return Seen(slot, held if self._writes else {}, given)

    def _tensor_contents(self, given: dict[str, Any]) -> dict[str, Any]:
        """What tensors hold, on the CPU: all of them, or those of integers where that is enough."""
        every = self._writes or self._values
        wanted = {k: v for k, v in given.items() if every or not v.is_floating_point()}
        try:
            return {k: tensor_contents.cpu_copy(v) for k, v in _readable(wanted).items()}
        except _ODD:  # tensors without data: the launch is recorded all the same
            return {}

    def _slot(self, record: dict[str, Any]) -> int | None:
        """A counter of its own for a record; beyond the limit, the kernel's one for all others."""
        source = json.dumps(record["source"], sort_keys=True)
        self._distinct[source] = self._distinct.get(source, 0) + 1
        if self._distinct[source] <= self._limit:
            return self._part.add(record)
        others = f"others of {source}"
        if others not in self._slots:
            self._slots[others] = self._part.add({"source": record["source"], "others": True})
        return self._slots[others]

    def _note(self, kernel: Any, text: str) -> None:
        name = getattr(getattr(kernel, "fn", kernel), "__name__", "a kernel")
        key = f"note {name} {text}"
        with self._lock:
            if key not in self._slots:
                self._slots[key] = None
                self._part.tell({"note": f"a launch of {name} was not recorded: {text[:300]}"})


_recorders: dict[int, Recorder] = {}


def recorder() -> Recorder:
    """This process's recorder; a forked child starts its own."""
    pid = os.getpid()
    if pid not in _recorders:
        _recorders.clear()
        _recorders[pid] = Recorder()
    return _recorders[pid]


def _interpreted_params(kernel: Any) -> list[KernelParam]:
    plain = kernel.kwargs.get("do_not_specialize") or ()
    unaligned = kernel.kwargs.get("do_not_specialize_on_alignment") or ()
    return [
        KernelParam(at, param, _named(at, param, plain), _named(at, param, unaligned))
        for at, param in enumerate(inspect.signature(kernel.fn).parameters.values())
    ]


def _named(at: int, param: inspect.Parameter, names: Any) -> bool:
    return at in names or param.name in names


def _source(function: Any) -> dict[str, Any]:
    return {
        "file": os.path.realpath(function.__code__.co_filename),
        "line": function.__code__.co_firstlineno,
        "name": function.__name__,
        "qualified_name": function.__qualname__,
        "text_hash": text_hash(inspect.getsource(function)),
    }


def text_hash(source: str) -> str:
    """Of a kernel's text from its first decorator on, without blank lines and comment lines."""
    lines = [line.rstrip() for line in textwrap.dedent(source.expandtabs()).splitlines()]
    kept = "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))
    return hashlib.sha256(kept.encode(errors="replace")).hexdigest()[:32]


def _as_tensor(value: Any) -> Any:
    """What stands for a view of a tensor, as flag_gems' StridedBuffer does, as that view."""
    base = getattr(value, "_base", None)
    if isinstance(value, torch.Tensor) or not isinstance(base, torch.Tensor):
        return value
    if not hasattr(value, "data_ptr") or value.dtype != base.dtype:
        return value
    offset = (int(value.data_ptr()) - int(base.data_ptr())) // base.element_size()
    return base.as_strided(value.shape, value.stride(), int(base.storage_offset()) + offset)


class _Asked(dict[str, Any]):
    """What a grid is called with; remembers which names it looked up."""

    def __init__(self, known: dict[str, Any]) -> None:
        super().__init__(known)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)


def _evaluated(grid: Any, bound: dict[str, Any]) -> tuple[Any, list[str] | None]:
    """(the grid, the arguments that it was computed from; None where it was no function)."""
    if not callable(grid):
        return grid, None
    asked = _Asked(bound)
    return grid(asked), sorted(asked.names)


def _record(
    kernel: Any, bound: dict[str, Any], options: dict[str, Any], grid: Any
) -> dict[str, Any]:
    arguments = [hooks.describe(param, bound[param.name]) for param in kernel.params]
    places = {}
    for param, facts in zip(kernel.params, arguments, strict=True):
        value = bound[param.name]
        if facts["kind"] != "tensor":
            continue
        places[param.name] = _place(value)
        if hasattr(value, "data_ptr"):
            specialized = not (param.do_not_specialize or param.do_not_specialize_on_alignment)
            facts["divisible_by_16"] = specialized and places[param.name]["alignment"] >= 16
    return {
        "source": kernel.source,
        "facts": {
            "kernel": kernel.fn.__name__,
            "grid": [int(size) for size in grid],
            "arguments": arguments,
            "options": hooks.plain_options(options),
        },
        **_memory(places),
    }


def _place(value: Any) -> dict[str, Any]:
    tensor = value if isinstance(value, torch.Tensor) else value.base
    address = int(tensor.data_ptr())
    size = tensor.element_size()
    reach = tensors.extent(tensor.shape, tensor.stride()) * size
    return {
        "offset": int(tensor.storage_offset()),
        "alignment": min(address & -address, _MOST_ALIGNMENT) if address else _MOST_ALIGNMENT,
        "storage": int(tensor.untyped_storage().data_ptr()),
        "storage_bytes": int(tensor.untyped_storage().nbytes()),
        "range": (address, address + reach),
        "device": str(tensor.device),
    }


def _memory(places: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Places with storages numbered, not addressed, so that equal launches are equal records."""
    numbers: dict[int, int] = {}
    ranges = {name: (*place.pop("range"), place["device"]) for name, place in places.items()}
    for place in places.values():
        place["storage"] = numbers.setdefault(place["storage"], len(numbers))
    names = list(ranges)
    overlaps = [
        [first, second]
        for at, first in enumerate(names)
        for second in names[at + 1 :]
        if ranges[first][2] == ranges[second][2]
        and max(ranges[first][0], ranges[second][0]) < min(ranges[first][1], ranges[second][1])
    ]
    tensor_list = [{"name": name, **place} for name, place in places.items()]
    return {"tensors": tensor_list, "overlaps": overlaps}


def _where(bound: dict[str, Any], interpreted: bool) -> dict[str, Any]:
    """The device that ran it and the versions that were there."""
    versions = {"torch": torch.__version__, "triton": triton.__version__}
    if interpreted:
        return {"device": "interpreter", "target": None, **versions}
    target = triton.runtime.driver.active.get_current_target()
    devices = (str(v.device) for v in bound.values() if isinstance(v, torch.Tensor))
    return {
        "device": next(devices, target.backend),
        "target": {"backend": target.backend, "arch": str(target.arch)},
        **versions,
    }


def _readable(given: dict[str, Any]) -> dict[str, Any]:
    """The tensors that can be read without stopping a CUDA graph's recording or taking long."""
    if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        return {}
    return {
        name: tensor
        for name, tensor in given.items()
        if tensor.numel() * tensor.element_size() <= _MOST_COMPARED_BYTES
    }


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors on the CPU hold the same: equal bits are equal, NaN included."""
    flat = (tensor.contiguous().reshape(-1).view(torch.uint8) for tensor in (one, other))
    return torch.equal(*flat)


class Part:
    """The two files of one process; not for use after a fork."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        base = folder / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._lines = base.with_suffix(".jsonl").open("ab", buffering=0)
        with base.with_suffix(".counts").open("w+b") as file:
            file.truncate(MOST_RECORDS * _COUNTER.size)
            self._counts = mmap.mmap(file.fileno(), 0)
        self._next = 0

    def add(self, record: dict[str, Any]) -> int | None:
        """The counter of a new record; None where there are too many."""
        if self._next == MOST_RECORDS:
            return None
        slot = self._next
        self._next += 1
        self.tell({"slot": slot, **record})
        return slot

    def tell(self, line: dict[str, Any]) -> None:
        """Write a line in one go; a full disk is no reason to stop a user's script."""
        with contextlib.suppress(OSError):
            self._lines.write((json.dumps(line) + "\n").encode())

    def count(self, slot: int) -> None:
        """It came once more."""
        at = slot * _COUNTER.size
        (before,) = _COUNTER.unpack_from(self._counts, at)
        _COUNTER.pack_into(self._counts, at, before + 1)
