"""``calls``: what the tests in a file call of the part above them, each call with its arguments.

A call is described as a template of its arguments, in which tensors and numbers are inputs by name,
and what those held, so that others like them can be made.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from ..host import absent_device, device_api, tensor_placement
from ..inputs import tensor_files
from ..launches.hooks import Recorder
from ..loading import entry_point, partial_import
from ..recorder import tensor_contents
from ..trials.version import one_config, surroundings

if TYPE_CHECKING:
    from ..messages.jobs import Call, CallInput, Calls, CallsJob

_MOST_CALLS = 24
_MOST_SECONDS = 60.0
_PROGRAMS_A_SECOND = 100
"""About what the interpreter does of them, where only the time is known."""


class _EnoughError(BaseException):
    """The tests have called enough; nothing that catches errors may catch this."""


class UntoldError(Exception):
    """An argument that cannot be made again, in words."""


def perform(job: CallsJob) -> Calls:
    """-> calls (function, arguments, inputs, programs, failure), failure of the tests themselves.

    Launches are counted and not made, and what they would have written is zero: tests of a large
    shape take long in the interpreter. Where no call can be derived so, the tests are run in
    earnest, and ``programs`` is a guess from the time, never 0.
    """
    found = _recorded(job)
    if all(call["failure"] for call in found["calls"]):
        recorder = _Recorder(None)
        with surroundings(job["device"], job["module"]), one_config(job, {}):
            found = _tests(job, recorder)
    return found


def _recorded(job: CallsJob) -> Calls:
    launches = Recorder()
    kind = device_api.written_for(job["module"]) or "cuda"
    with contextlib.ExitStack() as stack:
        for surrounding in (
            absent_device.no_driver(kind=kind), tensor_placement.elsewhere(kind, "cpu"), _Zeros(),
            launches.patched(),
        ):  # fmt: skip
            stack.enter_context(surrounding)
        return _tests(job, _Recorder(launches))


def _tests(job: CallsJob, recorder: _Recorder) -> Calls:
    torch.manual_seed(int(job.get("seed") or 0))
    module = _imported(job["module"], job["above"])
    recorder.watch(module)
    failure = _tested(module, job, recorder)
    return {"calls": recorder.calls, "failure": failure}


class _Zeros(TorchFunctionMode):
    """Memory that was not written is zero."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        return made.zero_() if func in _EMPTY else made


_EMPTY = (
    torch.empty, torch.empty_like, torch.empty_strided, torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided,
)  # fmt: skip


def _imported(path: str, above: str) -> ModuleType:
    module = ModuleType(f"under_test_{Path(path).stem}")
    module.__file__ = path
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(Path(path).parent))
    exec(compile(above, path, "exec"), vars(module))
    return module


def _tested(module: ModuleType, job: CallsJob, recorder: _Recorder) -> str:
    """Run the tests; why they ended early, or nothing."""
    text = "\n" * int(job["line"]) + job["below"]
    try:
        exec(compile(text, str(module.__file__), "exec"), vars(module))
        if not recorder.calls:
            for name, test in list(vars(module).items()):
                if name.startswith("test") and isinstance(test, FunctionType):
                    test()
    except _EnoughError:
        return ""
    except partial_import.FAILURES as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return ""


class _Recorder:
    """Stands before the functions of a module, and notes what is called from outside it."""

    def __init__(self, launches: Recorder | None) -> None:
        self.calls: list[Call] = []
        self._launches = launches
        self._computed: set[int] = set()
        self._inside = False
        self._started = time.perf_counter()

    def watch(self, module: ModuleType) -> None:
        """Stand before all functions that a module defines, and before what autograd applies."""
        kernels = entry_point.launchable_types()
        for name, value in list(vars(module).items()):
            own = getattr(value, "__module__", None) == module.__name__
            if own and isinstance(value, type) and issubclass(value, torch.autograd.Function):
                before = self._recording(f"{name}.apply", value.apply)
                value.apply = staticmethod(before)  # type: ignore[method-assign]
            applied = inspect.ismethod(value) or inspect.isbuiltin(value)
            if isinstance(value, (*kernels, type)) or name.startswith("__"):
                continue
            if callable(value) and (own or (applied and name != "apply" and _is_apply(value))):
                setattr(module, name, self._recording(name, value))

    def _recording(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def recorded_call(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return function(*args, **kwargs)
            self._inside = True
            try:
                return self._note(name, function, args, kwargs)
            finally:
                self._inside = False

        recorded_call.__name__ = name
        return recorded_call

    def _note(
        self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        late = time.perf_counter() - self._started > _MOST_SECONDS
        if len(self.calls) >= _MOST_CALLS or late:
            raise _EnoughError
        told: Call = {"function": name, "failure": ""}
        try:
            template = Template(named_arguments(function, args), self._computed)
            told["arguments"] = {
                "args": [template.template_of(value, given) for given, value in template.named],
                "kwargs": {key: template.template_of(value, key) for key, value in kwargs.items()},
            }
            told["inputs"] = template.inputs
        except UntoldError as error:
            told["failure"] = str(error)
        start, before = time.perf_counter(), self._programs()
        try:
            with torch.no_grad():
                returned = function(*args, **kwargs)
        except partial_import.FAILURES as error:
            said = " ".join(str(error).split())[:200]
            told["failure"] = f"it fails: {type(error).__name__}: {said}"
            self.calls.append(told)
            raise
        took = 1 + int((time.perf_counter() - start) * _PROGRAMS_A_SECOND)
        programs = self._programs() - before if self._launches is not None else took
        self.calls.append({**told, "programs": programs})
        self._computed |= {one.data_ptr() for one in tensor_files.tensors_in(returned)}
        return returned

    def _programs(self) -> int:
        """Of all launches so far, the first configuration of each tuner."""
        if self._launches is None:
            return 0
        pairs = zip(self._launches.launches, self._launches.config_index, strict=True)
        return sum(math.prod(launch["grid"]) for launch, index in pairs if not index)


def _is_apply(value: Any) -> bool:
    return getattr(value, "__name__", "") == "apply"


def named_arguments(function: Any, args: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Arguments by position with the names of their parameters, if these are known."""
    try:
        target = function.__self__.forward if _is_apply(function) else function
        names = list(inspect.signature(target).parameters)
        names = names[1:] if _is_apply(function) else names
    except (TypeError, ValueError, AttributeError):
        names = []
    names += [f"argument_{at}" for at in range(len(names), len(args))]
    return list(zip(names, args, strict=False))


class Template:
    """Arguments with names in the place of tensors and numbers; ``values`` has these by name."""

    def __init__(self, named: list[tuple[str, Any]], computed: set[int]) -> None:
        self.named = named
        self._computed = computed
        self.inputs: list[CallInput] = []
        self.values: dict[str, Any] = {}
        self._tensors: dict[tuple[Any, ...], str] = {}

    def template_of(self, value: Any, name: str) -> dict[str, Any]:
        """The template of one value."""
        if isinstance(value, torch.Tensor):
            return {"input": self._tensor(value, name)}
        if isinstance(value, bool | int | float | str):
            self.inputs.append({"name": self._free(name), "value": value})
            self.values[self.inputs[-1]["name"]] = value
            return {"input": self.inputs[-1]["name"]}
        if value is None:
            return {"none": True}
        if isinstance(value, torch.dtype):
            return {"dtype": tensor_files.dtype_name(value)}
        if isinstance(value, torch.device):
            return {"device": True}
        if isinstance(value, list | tuple):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return {kind: [self.template_of(one, f"{name}_{at}") for at, one in enumerate(value)]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {
                "dict": {key: self.template_of(one, f"{name}_{key}") for key, one in value.items()}
            }
        raise UntoldError(f"its argument {name} is a {type(value).__name__}")

    def _free(self, name: str) -> str:
        taken = {one["name"] for one in self.inputs}
        return next(n for n in _numbered(name) if n not in taken)

    def _tensor(self, value: torch.Tensor, name: str) -> str:
        plain = tensor_files.plain(value)
        key = (plain.data_ptr(), tuple(plain.shape), plain.stride(), plain.dtype)
        if plain.numel() and key in self._tensors:
            return self._tensors[key]
        name = self._free(name)
        self._tensors[key] = name
        self.values[name] = value
        held = tensor_contents.cpu_copy(plain) if plain.numel() else plain
        # What an earlier call would have computed is not known.
        known = not (plain.is_floating_point() and plain.data_ptr() in self._computed)
        found = tensor_contents.contents({name: held}, floats=True) if known else {}
        self.inputs.append({
            "name": name, "dtype": tensor_files.dtype_name(plain.dtype), "shape": list(plain.shape),
            "strides": list(plain.stride()), "contents": found.get(name),
        })  # fmt: skip
        return name


def _numbered(name: str) -> Iterator[str]:
    yield name
    at = 2
    while True:
        yield f"{name}_{at}"
        at += 1
