"""Input data of a case: deterministic by seed and input name, and sized before it is made."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..compare.tolerance import ULP_OF_SINGLE, wide_of
from ..host import absent_device, tensor_placement
from ..protocol import JobError, OutOfMemoryError
from ..sandbox import confinement
from . import module_inputs, tensor_files
from . import value_families as families

if TYPE_CHECKING:
    from ..messages.parts import Case, Input, InputFacts

_DEFAULT_INT_RANGE = (0, 8)
_WORKING_COPIES = 3
_FEW_ZEROS = 8  # one in so many, or fewer, is a coincidence
_STATE_WORDS = 624
_STATE_HEAD = 24
"""Of a CPU generator's state: bytes before the words of its Mersenne Twister, 8 bytes each."""


def stream(seed: int, name: str) -> torch.Generator:
    """A generator of its own for each seed and input name.

    ``seed`` may be of any size and is used whole: ``manual_seed`` would keep 32 bits of it, which
    can be tried one after the other.
    """
    generator = torch.Generator()
    generator.set_state(_state(generator.get_state(), f"{seed}:{name}"))
    return generator


def _state(state: torch.Tensor, text: str) -> torch.Tensor:
    """A CPU generator's state whose words come from ``text``."""
    words = hashlib.shake_256(text.encode()).digest(4 * _STATE_WORDS)
    made = torch.frombuffer(bytearray(words), dtype=torch.int32).to(torch.int64) & 0xFFFF_FFFF
    state = state.clone()
    state[_STATE_HEAD : _STATE_HEAD + 8 * _STATE_WORDS] = made.view(torch.uint8)
    return state


def make_inputs(
    case: Case, seed: int, module: Any = None, values: str = "normal"
) -> dict[str, Any]:
    """A case's inputs by name, on the CPU; raises OutOfMemoryError before allocating too much.

    ``values``: the family that floats without a range are of (``value_families.py``).
    """
    if values not in families.FAMILIES:
        raise JobError(f"unknown values {values!r}; there are {', '.join(families.FAMILIES)}")
    if case.get("inputs_from_module"):
        given = _from_module(case, module, seed)
        return {
            name: _kept_sign(value, _reshaped(_tensor_of(value), values, seed, name))
            for name, value in given.items()
        }
    check_memory(case)
    made: dict[str, Any] = {}
    for spec in case["inputs"]:
        if spec["name"] in made:
            raise JobError(f"two inputs are called {spec['name']!r}")
        made[spec["name"]] = make_input(spec, stream(seed, spec["name"]), values)
    return {name: _formatted(value, case.get("memory_format")) for name, value in made.items()}


def _reshaped(value: Any, values: str, seed: int, name: str) -> Any:
    """What a module's ``get_inputs`` made, in another family. Where many numbers are zero (a
    triangle, a mask) that is what the inputs are, and those stay."""
    if values == families.NORMAL or not isinstance(value, torch.Tensor):
        return value
    if not value.is_floating_point():
        return value
    generator, data, zeros = stream(seed, name), value.float(), value == 0
    if values == families.LARGE:
        # Modules like to draw from 0 to 1, where many a function is no more than its argument.
        data = data * (torch.randint(0, 2, data.shape, generator=generator) * 2 - 1)
    made = families.family_of(values, value.dtype)(data, generator).to(value.dtype)
    return made.masked_fill(zeros, 0.0) if zeros.sum() * _FEW_ZEROS > value.numel() else made


def filled(inputs: Mapping[str, Any], number: float, only: str | None = None) -> dict[str, Any]:
    """The inputs, or only one, with a number in the place of NaN and infinities, as far as a
    dtype goes."""
    return {
        name: _fill(value, number) if only in (None, name) else value
        for name, value in inputs.items()
    }


def _fill(value: Any, number: float) -> Any:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    most = torch.finfo(value.dtype).max / 4
    wide = value.to(torch.float32) if value.dtype.itemsize == 1 else value
    return wide.where(wide.isfinite(), min(max(number, -most), most)).to(value.dtype)


def nudged(inputs: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The inputs in double precision, each float off by up to an ulp of single precision.

    What an oracle makes of them is what no order of computation can be asked to avoid. Made where
    the inputs are.
    """
    return {name: _nudge(value, seed, name) for name, value in inputs.items()}


def _nudge(value: Any, seed: int, name: str) -> Any:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    wide = wide_of(value)
    digest = hashlib.sha256(f"nudge {seed}:{name}".encode()).digest()
    generator = torch.Generator(value.device).manual_seed(int.from_bytes(digest[:7], "big"))
    noise = torch.rand(value.shape, generator=generator, device=value.device, dtype=torch.float32)
    return value.to(wide) * (1 + ULP_OF_SINGLE * (2 * noise.to(wide) - 1))


def make_input(spec: Input, generator: torch.Generator, values: str = "normal") -> Any:
    """One input from its spec."""
    if spec.get("value") is not None:
        return _scalar(spec, generator, values)
    facts = spec.get("facts") or {}
    if facts.get("finite") and values == families.NONFINITE:
        values = families.NORMAL
    made = _kept_to(facts, spec, _tensor(spec, generator, values), generator)
    strides = spec.get("strides")
    return _strided(made, tuple(strides)) if strides else made


def facts_of(case: Case | None) -> dict[str, InputFacts]:
    """What the spec states of each input of a case, by name."""
    specs = (case and case.get("inputs")) or ()
    return {spec["name"]: spec.get("facts") or {} for spec in specs}


def _kept_to(
    facts: InputFacts, spec: Input, made: torch.Tensor,
    generator: torch.Generator,
) -> torch.Tensor:  # fmt: skip
    """Numbers as the spec states them: of one sign, each once, ascending."""
    if facts.get("unique"):
        made = _each_once(spec, made, generator)
    if facts.get("nonnegative") and made.dtype != torch.bool:
        made = made.abs()
    return made.sort(-1).values if facts.get("sorted") and made.dim() else made


def _each_once(spec: Input, made: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    low, high = int(spec.get("low") or 0), spec.get("high")
    room = made.numel() if high is None else int(high) - low
    if room < made.numel():
        raise JobError(
            f"input {spec['name']}: {made.numel()} integers cannot all differ within {room}"
        )
    drawn = torch.randperm(room, generator=generator)[: made.numel()] + low
    return drawn.reshape(made.shape).to(made.dtype)


def _tensor(spec: Input, generator: torch.Generator, values: str) -> torch.Tensor:
    """A dense one."""
    dtype, shape = tensor_files.dtype_of(spec["dtype"]), tuple(spec.get("shape") or ())
    if spec.get("values"):
        return torch.tensor(spec["values"], dtype=torch.int64).to(dtype).reshape(shape)
    if spec.get("std") is not None:
        return _random_floats(spec, shape, generator).to(dtype)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if not dtype.is_floating_point and not dtype.is_complex:
        return _integers(spec, dtype, generator, values)
    data = _floats(spec, dtype, generator, values)
    for transform in spec.get("transforms") or ():
        if transform not in _TRANSFORMS:
            raise JobError(f"input {spec['name']}: unknown transform {transform!r}")
        data = _TRANSFORMS[transform](data, generator)
    return data.to(dtype).contiguous()


def _strided(made: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """The same numbers as far as they go, at strides of one's own: some may lie on others."""
    shape = tuple(made.shape)
    held = torch.empty(tensor_files.extent(shape, strides), dtype=made.dtype)
    view = held.as_strided(shape, strides)
    if torch._debug_has_internal_overlap(view) == 0:
        held.zero_()
        view.copy_(made)
    else:
        held.copy_(made.reshape(-1)[: held.numel()])
    return view


def _integers(
    spec: Input, dtype: torch.dtype, generator: torch.Generator, values: str
) -> torch.Tensor:
    """Integers of a range, else of the usual one or of the one that ``values`` names."""
    shape = tuple(spec.get("shape") or ())
    low, high = spec.get("low"), spec.get("high")
    wide = families.integers(values, dtype) if low is None and high is None else None
    low, high = wide or (low, high)
    first = _DEFAULT_INT_RANGE[0] if low is None else int(low)
    last = _DEFAULT_INT_RANGE[1] if high is None else int(high)
    if last <= first:
        raise JobError(f"input {spec['name']}: the range {first}..{last} holds no integer")
    drawn = torch.randint(first, last, shape, generator=generator)
    if wide is not None:
        _lean(drawn, last)
    if low is not None and high is not None:
        _reach_both_ends(drawn, first, last - 1, generator)
    return (drawn.sort().values if spec.get("ascending") else drawn).to(dtype)


def _lean(drawn: torch.Tensor, last: int) -> None:
    """Have every other row, or half of a vector, in the upper half of what is positive: sums of
    numbers of both signs stay small."""
    upper = drawn[1::2] if drawn.dim() > 1 else drawn[drawn.numel() // 2 :]
    upper.remainder_(max((last + 1) // 2, 1)).add_(last // 2)


def _reach_both_ends(
    drawn: torch.Tensor, first: int, last: int, generator: torch.Generator
) -> None:
    """Have the least and the largest integer somewhere: an index's ends are where it goes wrong."""
    if drawn.numel() > 1:
        low, high = torch.randperm(min(drawn.numel(), 1 << 16), generator=generator)[:2]
        drawn.view(-1)[low], drawn.view(-1)[high] = first, last


def _random_floats(spec: Input, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Floats with the mean and deviation of others, within their range."""
    data = torch.randn(shape, generator=generator).mul_(spec["std"] or 0.0).add_(spec["mean"])
    return data.clamp_(spec["low"], spec["high"])


def _scalar(spec: Input, generator: torch.Generator, values: str) -> Any:
    """A plain number: the spec's, or one of its range where other values are asked for."""
    value, low, high = spec["value"], spec.get("low"), spec.get("high")
    if values == families.NORMAL or low is None or high is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(torch.randint(int(low), int(high), (), generator=generator))
    return float(low) + (float(high) - float(low)) * float(torch.rand((), generator=generator))


def _floats(
    spec: Input, dtype: torch.dtype, generator: torch.Generator, values: str
) -> torch.Tensor:
    """Floats of a range, or else normal ones made into those of a family."""
    low, high, shape = spec.get("low"), spec.get("high"), tuple(spec.get("shape") or ())
    if low is not None and high is not None:
        return torch.rand(shape, generator=generator).mul_(high - low).add_(low)
    if spec.get("transforms") and values == families.NONFINITE:
        values = families.NORMAL  # what a transform promises holds of numbers
    return families.family_of(values, dtype)(torch.randn(shape, generator=generator), generator)


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


def _from_module(case: Case, module: Any, seed: int) -> dict[str, Any]:
    torch.default_generator.set_state(_state(torch.default_generator.get_state(), str(seed)))
    np.random.seed(seed % (1 << 32))
    return module_inputs.inputs(module, case)


def _tensor_of(value: Any) -> Any:
    """An array of numpy as a tensor."""
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _kept_sign(given: Any, made: Any) -> Any:
    """Numbers without a sign where a module's array has none, such as variances."""
    has_none = (
        isinstance(given, np.ndarray) and given.dtype.kind == "f" and bool((given >= 0).all())
    )
    return made.abs() if has_none else made


def fake_inputs(case: Case, module: Any, device: str) -> list[Any]:
    """The inputs as tensors without data; call inside a FakeTensorMode."""
    if case.get("inputs_from_module"):
        values = module_inputs.inputs(module, case).values()
        return [v.to(device) if isinstance(v, torch.Tensor) else v for v in values]
    made = []
    for spec in case["inputs"]:
        if spec.get("value") is not None:
            made.append(spec["value"])
            continue
        dtype = tensor_files.dtype_of(spec["dtype"])
        tensor = torch.empty(tuple(spec.get("shape") or ()), dtype=dtype, device=device)
        if strides := spec.get("strides"):
            tensor = torch.empty_strided(tensor.shape, strides, dtype=dtype, device=device)
        made.append(_formatted(tensor, case.get("memory_format")))
    return made


def case_bytes(case: Case) -> int:
    """What a case's inputs take, in bytes."""
    return sum(size for _, size in _sizes(case))


def made_bytes(case: Case, module: Any) -> int:
    """What the inputs that a module makes would take, in bytes; none are made."""
    with absent_device.fake_tensors(), tensor_placement.elsewhere("cuda", "cpu"):
        values = fake_inputs(case, module, "cpu")
    return sum(v.numel() * v.element_size() for v in values if isinstance(v, torch.Tensor))


def _sizes(case: Case) -> list[tuple[str, int]]:
    return [
        (
            spec["name"],
            math.prod(spec.get("shape") or ()) * tensor_files.dtype_of(spec["dtype"]).itemsize,
        )
        for spec in case.get("inputs") or ()
        if spec.get("value") is None
    ]


def check_memory(case: Case, out: str | None = None) -> None:
    """Raise OutOfMemoryError if the inputs do not fit memory, or ``out``'s file system."""
    sizes = _sizes(case)
    largest = max((math.prod(spec.get("shape") or ()) * 4 for spec in case["inputs"]), default=0)
    needed = sum(size for _, size in sizes) + _WORKING_COPIES * largest
    free = confinement.available_memory()
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
