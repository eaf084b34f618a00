"""Calls of an entry point that launches NKI kernels: tensors there and back, each launch noted.

While ``surroundings`` hold, imports of ``neuronxcc.nki`` and ``nki`` find the simulator's modules.
Launches run in the circumstances of the call that is under way: an order of loops and of program
instances, memory that is poisoned, or with nothing left of what kernels compute (``skipped``).
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from ..nki import kernels, modules
from ..nki import launch as launches
from ..nki.settings import Fault, Flavour, KernelFault, Settings, Simulated
from ..nki.simulation import TypedArray
from ..protocol import JobError
from . import arrays, nkibench, sdk
from .device_ids import NEURON

if TYPE_CHECKING:
    from ..messages.nki import InstructionRecord

NO_SDK = (
    "no Neuron SDK can be imported (neuronxcc.nki, or nki with nki.language); the device "
    "neuron-sim needs none"
)
_FORWARD = "forward"
_STAND_INS = ("neuronxcc", "nki")
_LANGUAGE = ("nki.language", "nki.isa", "neuronxcc.nki.language", "neuronxcc.nki.isa")
Watcher = Callable[[Any, Any], None]


@dataclass
class Call:
    """What the launches of one call of an entry point did."""

    settings: Settings = field(default_factory=Settings)
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    records: list[InstructionRecord] = field(default_factory=list)

    def result_fields(self) -> dict[str, Any]:
        """Faults of kernels that ran to their end, as JSON; instructions, where they were noted."""
        found: dict[str, Any] = {"kernel_faults": [_fault_json(fault) for fault in self.faults]}
        return {**found, "instructions": self.records} if self.records else found


class _Launches(kernels.Runs):
    """The state of this process: one call of an entry point at a time is under way."""

    def __init__(self) -> None:
        super().__init__(Settings(record=False), arrays.to_numpy, self._returned, self._observed)
        self.call = Call(self.settings)
        self.watchers: list[Watcher] = []
        self.are_skipped = False

    def begin(self, call: Call) -> None:
        """Have launches run in the circumstances of a call."""
        self.call, self.settings = call, call.settings

    def note_launch(self, function: Any, grid: tuple[int, ...]) -> None:
        """Tell who watches that a kernel is launched."""
        for watcher in self.watchers:
            watcher(function, grid or (1,))
        self.call.counts[str(getattr(function, "__name__", "a kernel"))] += 1

    def _observed(self, ran: Simulated) -> None:
        self.call.faults += ran.faults
        self.call.records += ran.records

    def _returned(self, output: TypedArray) -> Any:
        return arrays.plain(_emptied(output) if self.are_skipped else output)


_LAUNCHES = _Launches()
_CALL = kernels.JitKernel.__call__


def _launch_by_host(kernel: kernels.JitKernel, *arguments: Any, **keywords: Any) -> Any:
    """A launch by host code, noted; a kernel that another one calls is no launch."""
    if not launches.is_running():
        _LAUNCHES.note_launch(kernel.func, kernel.grid)
    return _CALL(kernel, *arguments, **keywords)


@contextlib.contextmanager
def surroundings(device: str) -> Iterator[None]:
    """Have the imports of a file find NKI: the simulator's modules, or the SDK on its device.

    Raises:
        JobError: there is no SDK.
    """
    if device == NEURON:
        if not sdk.packages():
            raise JobError(NO_SDK)
        yield
        return
    modules.install(_LAUNCHES, replace=True)
    with mock.patch.object(kernels.JitKernel, "__call__", _launch_by_host):
        yield


def stand_ins() -> list[tuple[str, Any]]:
    """The modules that stand in for the vendor's, by name."""
    return [
        (name, module)
        for name, module in list(sys.modules.items())
        if name.startswith(_STAND_INS) and isinstance(module, modules.StandIn)
    ]


@contextlib.contextmanager
def launched(job: Mapping[str, Any]) -> Iterator[Call]:
    """The launches of one call, in the circumstances that its job asks for."""
    reverse = str(job.get("order") or _FORWARD) != _FORWARD
    before = _LAUNCHES.call
    settings = Settings(
        reverse=reverse, reverse_instances=reverse, poison=bool(job.get("poison", True)),
        record=bool(job.get("record")),
    )  # fmt: skip
    _LAUNCHES.begin(Call(settings))
    try:
        yield _LAUNCHES.call
    finally:
        _LAUNCHES.begin(before)


@contextlib.contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Have ``watcher(kernel, grid)`` called at each launch."""
    _LAUNCHES.watchers.append(watcher)
    try:
        yield
    finally:
        _LAUNCHES.watchers.remove(watcher)


@contextlib.contextmanager
def skipped() -> Iterator[None]:
    """Have kernels run and return nothing of what they computed: what of a result is still right
    then was not their work."""
    _LAUNCHES.are_skipped = True
    try:
        yield
    finally:
        _LAUNCHES.are_skipped = False


def on_sdk(target: Any, entry: Mapping[str, Any]) -> Callable[..., Any]:
    """A kernel as a function of tensors, which the SDK's own simulator runs; a reference as it is.

    The SDK does not let launches of host code be taken over, so the entry is the kernel itself.
    """
    kind = type(target).__module__.partition(".")[0]
    if kind not in _STAND_INS:
        if entry.get("path") is None:
            raise JobError(f"{entry['name']} is no NKI kernel; on {NEURON} the entry is a kernel")
        return adapted(target, entry)

    def launch(*arrays_given: Any) -> Any:
        _LAUNCHES.note_launch(getattr(target, "func", target), (1,))
        return sdk.simulated(target, arrays_given)

    layout = entry.get("layout")
    called = nkibench.kernel_call(launch, str(layout)) if layout else launch

    def call(*inputs: Any) -> Any:
        return arrays.to_torch(called(*map(arrays.to_numpy, inputs)))

    return call


def adapted(target: Callable[..., Any], entry: Mapping[str, Any]) -> Callable[..., Any]:
    """What an entry names, as a function that takes tensors and returns tensors.

    A function whose module has torch gets tensors, as references written with it expect them. One
    without a decorator that uses the language itself is launched as a kernel.
    """
    if (flavour := _own_flavour(target)) is not None:
        target = kernels.JitKernel(target, flavour, _LAUNCHES)
    if layout := entry.get("layout"):
        is_reference = entry["name"] == nkibench.FORWARD
        made = nkibench.reference_call(target) if is_reference else None
        target = made or nkibench.kernel_call(target, str(layout))
    elif _uses_torch(target):
        return target

    convert = arrays.to_numpy if isinstance(target, kernels.JitKernel) else arrays.to_host

    def call(*inputs: Any) -> Any:
        try:
            return arrays.to_torch(target(*map(convert, inputs)))
        except KernelFault as error:
            fault = error.fault
            raise JobError(f"line {fault.line}: {fault.message} ({fault.kind})") from None

    return call


def _own_flavour(target: Any) -> Flavour | None:
    """The package whose language a plain function uses in its own code; None where it uses none."""
    if not isinstance(target, FunctionType):
        return None
    used = (target.__globals__.get(name) for name in target.__code__.co_names)
    names = {one.__name__ for one in used if isinstance(one, ModuleType)}
    if names.isdisjoint(_LANGUAGE):
        return None
    return "neuronxcc" if any(name.startswith("neuronxcc") for name in names) else "nki"


def _uses_torch(target: Any) -> bool:
    """Whether a function stands in a module that imports torch and no NKI."""
    names = vars(sys.modules.get(getattr(target, "__module__", ""), None) or object)
    modules = {str(getattr(one, "__name__", "")) for one in names.values() if _is_module(one)}
    roots = {name.partition(".")[0] for name in modules}
    return "torch" in roots and roots.isdisjoint(("neuronxcc", "nki"))


def _is_module(value: Any) -> bool:
    return isinstance(value, ModuleType)


def caveats(device: str) -> list[str]:
    """What a person should know of results had here."""
    if device == NEURON:
        return ["kernels ran in the simulator of the Neuron SDK, in order: this way is untried"]
    return [
        "kernels ran in the simulator of Tilewright, one program instance after another, with the "
        "order of affine loops turned around in some checks: timing, engines that run at the same "
        "time and the compiler's own choices do not show"
    ]


def _emptied(output: TypedArray) -> TypedArray:
    """An output of the same shape and type with nothing of what was computed."""
    kind, dtype = output.data.dtype.kind, output.data.dtype
    fill = np.nan if kind == "f" else True if kind == "b" else np.iinfo(dtype).max
    return replace(output, data=np.full_like(output.data, fill))


def _fault_json(fault: Fault) -> dict[str, Any]:
    return {
        "kind": fault.kind, "severity": fault.severity, "message": fault.message,
        "line": fault.line,
    }  # fmt: skip
