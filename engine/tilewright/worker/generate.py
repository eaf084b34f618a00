"""Input data of a case: deterministic by seed and input name, and sized before it is made."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable
from typing import Any

import torch

from . import confine, tensors
from .protocol import JobError, OutOfMemoryError

VALUE_SCALES = {"normal": 1.0, "large": 64.0, "tiny": 2.0**-10}
_DEFAULT_INT_RANGE = (0, 8)
_WORKING_COPIES = 3


def stream(seed: int, name: str) -> torch.Generator:
    """A generator of its own for each seed and input name."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))


def make_inputs(
    case: dict[str, Any], seed: int, module: Any = None, values: str = "normal"
) -> dict[str, Any]:
    """A case's inputs by name, on the CPU; raises OutOfMemoryError before allocating too much."""
    if values not in VALUE_SCALES:
        raise JobError(f"unknown values {values!r}; there are {', '.join(VALUE_SCALES)}")
    if case.get("inputs_from_module"):
        return _from_module(module, seed)
    check_memory(case)
    made: dict[str, Any] = {}
    for spec in case["inputs"]:
        if spec["name"] in made:
            raise JobError(f"two inputs are called {spec['name']!r}")
        made[spec["name"]] = make_input(spec, stream(seed, spec["name"]), VALUE_SCALES[values])
    return {name: _formatted(value, case.get("memory_format")) for name, value in made.items()}


def make_input(spec: dict[str, Any], generator: torch.Generator, scale: float) -> Any:
    """One input from its spec."""
    if spec.get("value") is not None:
        return spec["value"]
    dtype, shape = tensors.dtype_of(spec["dtype"]), tuple(spec.get("shape") or ())
    if spec.get("values"):
        return torch.tensor(spec["values"], dtype=torch.int64).to(dtype).reshape(shape)
    if spec.get("std") is not None:
        return _drawn(spec, shape, generator).to(dtype)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if not dtype.is_floating_point and not dtype.is_complex:
        low, high = spec.get("low"), spec.get("high")
        first = _DEFAULT_INT_RANGE[0] if low is None else int(low)
        last = _DEFAULT_INT_RANGE[1] if high is None else int(high)
        if last <= first:
            raise JobError(f"input {spec['name']}: the range {first}..{last} holds no integer")
        drawn = torch.randint(first, last, shape, generator=generator)
        return (drawn.sort().values if spec.get("ascending") else drawn).to(dtype)
    data = _floats(spec, shape, generator, scale)
    for transform in spec.get("transforms") or ():
        if transform not in _TRANSFORMS:
            raise JobError(f"input {spec['name']}: unknown transform {transform!r}")
        data = _TRANSFORMS[transform](data, generator)
    return data.to(dtype).contiguous()


def _drawn(
    spec: dict[str, Any], shape: tuple[int, ...], generator: torch.Generator
) -> torch.Tensor:
    """Floats with the mean and deviation of others, within their range."""
    data = torch.randn(shape, generator=generator).mul_(spec["std"]).add_(spec["mean"])
    return data.clamp_(spec["low"], spec["high"])


def _floats(
    spec: dict[str, Any], shape: tuple[int, ...], generator: torch.Generator, scale: float
) -> torch.Tensor:
    low, high = spec.get("low"), spec.get("high")
    if low is not None and high is not None:
        return torch.rand(shape, generator=generator).mul_(high - low).add_(low)
    return torch.randn(shape, generator=generator).mul_(scale)


def _square(data: torch.Tensor) -> torch.Tensor:
    if data.dim() != 2 or data.shape[0] != data.shape[1]:
        raise JobError(f"symmetric needs a square matrix, got {tuple(data.shape)}")
    return (data + data.T) / 2


def _rademacher(data: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(0, 2, data.shape, generator=generator).float() * 2 - 1


_TRANSFORMS: dict[str, Callable[[torch.Tensor, torch.Generator], torch.Tensor]] = {
    "scale": lambda data, generator: data * torch.randn((), generator=generator),
    "softmax": lambda data, _: torch.softmax(data, -1),
    "abs": lambda data, _: data.abs(),
    "normalize": lambda data, _: torch.nn.functional.normalize(data, dim=-1),
    "symmetric": lambda data, _: _square(data),
    "triu": lambda data, _: torch.triu(data),
    "tril": lambda data, _: torch.tril(data),
    "transpose": lambda data, _: data.transpose(-1, -2),
    "uniform": lambda data, generator: torch.rand(data.shape, generator=generator) * 2 - 1,
    "rademacher": _rademacher,
}


def _formatted(value: Any, memory_format: str | None) -> Any:
    dims = {"channels_last": 4, "channels_last_3d": 5}.get(memory_format or "")
    if memory_format is None or not isinstance(value, torch.Tensor) or value.dim() != dims:
        return value
    return value.contiguous(memory_format=getattr(torch, memory_format))


def _from_module(module: Any, seed: int) -> dict[str, Any]:
    if module is None or not hasattr(module, "get_inputs"):
        raise JobError(
            "the case takes its inputs from get_inputs(), which the module does not define"
        )
    torch.manual_seed(int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:7], "big"))
    return {f"input_{at}": value for at, value in enumerate(module.get_inputs())}


def fake_inputs(case: dict[str, Any], module: Any, device: str) -> list[Any]:
    """The inputs as tensors without data; call inside a FakeTensorMode."""
    if case.get("inputs_from_module"):
        values = _from_module(module, 0).values()
        return [v.to(device) if isinstance(v, torch.Tensor) else v for v in values]
    made = []
    for spec in case["inputs"]:
        if spec.get("value") is not None:
            made.append(spec["value"])
            continue
        dtype = tensors.dtype_of(spec["dtype"])
        tensor = torch.empty(tuple(spec.get("shape") or ()), dtype=dtype, device=device)
        made.append(_formatted(tensor, case.get("memory_format")))
    return made


def case_bytes(case: dict[str, Any]) -> int:
    """What a case's inputs take, in bytes."""
    return sum(size for _, size in _sizes(case))


def _sizes(case: dict[str, Any]) -> list[tuple[str, int]]:
    return [
        (
            spec["name"],
            math.prod(spec.get("shape") or ()) * tensors.dtype_of(spec["dtype"]).itemsize,
        )
        for spec in case.get("inputs") or ()
        if spec.get("value") is None
    ]


def check_memory(case: dict[str, Any], out: str | None = None) -> None:
    """Raise OutOfMemoryError if the inputs do not fit memory, or ``out``'s file system."""
    sizes = _sizes(case)
    largest = max((math.prod(spec.get("shape") or ()) * 4 for spec in case["inputs"]), default=0)
    needed = sum(size for _, size in sizes) + _WORKING_COPIES * largest
    free = confine.available_memory()
    listed = ", ".join(f"{name} {_human(size)}" for name, size in sizes)
    if needed > free:
        raise OutOfMemoryError(
            f"making the inputs takes {_human(needed)}, {_human(free)} are free ({listed})"
        )
    if out is not None:
        status = os.statvfs(out)
        room = status.f_bavail * status.f_frsize
        if sum(size for _, size in sizes) > room:
            raise OutOfMemoryError(
                f"the inputs do not fit {out}: {_human(room)} are free ({listed})"
            )


def _human(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.1f} MiB"
