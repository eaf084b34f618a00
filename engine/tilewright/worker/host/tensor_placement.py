"""Tensors that host code wants on a device that is not here: where they are put instead, and what
they say to it of where they lie."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

from ..loading.entry_point import standing_in
from .device_api import KINDS, is_foreign, placed

_MOVES = {getattr(torch.Tensor, kind) for kind in KINDS}
_OWN_ROOTS = frozenset({"torch", "triton", "numpy", __name__.partition(".")[0]})
_EXTENSIONS = ("intel_extension_for_pytorch",)


class Placement(TorchFunctionMode):
    """Put at ``place`` what host code asks to have on a GPU of another kind."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in _MOVES and func.__name__ != self._place.partition(":")[0]:
            return args[0].to(self._place)
        if is_foreign(kwargs.get("device"), self._place):
            kwargs["device"] = torch.device(self._place)
        if func is torch.Tensor.to:
            args = tuple(placed(value, self._place) for value in args)
        if self._place == "cpu":
            kwargs.pop("pin_memory", None)
            if func is torch.Tensor.pin_memory:
                return args[0]
        return func(*args, **kwargs)


@contextlib.contextmanager
def claimed(kind: str, place: str) -> Iterator[None]:
    """Let tensors at ``place`` tell host code that they lie on a device of ``kind``.

    Torch, Triton and the worker go on being told where they lie.
    """
    at = torch.device(place).type
    other = torch.device(kind, 0)

    def is_there(tensor: torch.Tensor) -> bool:
        return _true_device(tensor).type == at

    def claiming(name: str, claim: Callable[[torch.Tensor], Any]) -> property:
        truth = getattr(torch._C.TensorBase, name)

        def attribute(tensor: torch.Tensor) -> Any:
            if _asks_itself(sys._getframe(1)) or not is_there(tensor):
                return truth.__get__(tensor)
            return claim(tensor)

        return property(attribute)

    def device(tensor: torch.Tensor) -> torch.device:
        own = _true_device(tensor)
        return own if _asks_itself(sys._getframe(1)) or own.type != at else other

    def get_device(tensor: torch.Tensor) -> int:
        own = torch._C.TensorBase.get_device(tensor)
        return own if _asks_itself(sys._getframe(1)) or not is_there(tensor) else 0

    claims: dict[str, Any] = {
        **{f"is_{each}": claiming(f"is_{each}", _equal(each, kind)) for each in (*KINDS, "cpu")},
        "device": property(device),
        "get_device": get_device,
    }
    with contextlib.ExitStack() as stack:
        for name, value in claims.items():
            stack.enter_context(mock.patch.object(torch.Tensor, name, value, create=True))
        stack.enter_context(_of_fake_tensors(property(device)))
        yield


def _equal(one: str, other: str) -> Callable[[torch.Tensor], bool]:
    return lambda tensor: one == other


def _true_device(tensor: torch.Tensor) -> torch.device:
    fake: torch.device | None = getattr(tensor, "fake_device", None)
    if fake is None:
        with torch._C.DisableTorchFunction():
            return torch._C.TensorBase.device.__get__(tensor)
    # Within an operator torch takes a tensor without memory for what it holds.
    mode: Any = getattr(tensor, "fake_mode", None)
    return torch.device("meta") if mode is not None and mode.in_kernel_invocation else fake


def _of_fake_tensors(device: property) -> contextlib.AbstractContextManager[Any]:
    """Tensors without memory have a property of their own for where they lie."""
    module = sys.modules.get("torch._subclasses.fake_tensor")
    if module is None:
        return contextlib.nullcontext()
    return mock.patch.object(module.FakeTensor, "device", device)


def _asks_itself(frame: Any) -> bool:
    """Whether torch, Triton or the worker asks, and not the code under test."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _OWN_ROOTS


@contextlib.contextmanager
def elsewhere(kind: str, place: str) -> Iterator[None]:
    """Host code for a device of ``kind``, with its tensors at ``place``; as it is where they are
    of one kind."""
    if place.partition(":")[0] == kind:
        yield
        return
    with (
        Placement(place),
        claimed(kind, place),
        mock.patch.object(torch, "Generator", _generators(place)),
        mock.patch.object(torch.amp.autocast_mode.autocast, "__init__", _autocast(place)),
        extensions(kind),
    ):
        yield


def _generators(place: str) -> type:
    class AnyGenerator(type):
        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, torch._C.Generator)

    class Generator(metaclass=AnyGenerator):
        def __new__(cls, device: Any = "cpu") -> Any:
            return torch._C.Generator(placed(device, place))

    return Generator


def _autocast(place: str) -> Callable[..., None]:
    """What a device's autocast would cast is cast where the tensors lie."""
    begin: Any = torch.amp.autocast_mode.autocast.__init__

    def initialize(context: Any, device_type: str, *given: Any, **named: Any) -> None:
        begin(context, torch.device(placed(device_type, place)).type, *given, **named)

    return initialize


@contextlib.contextmanager
def extensions(kind: str) -> Iterator[None]:
    """Intel's extension of torch, where host code for Intel imports it and it is not here."""
    absent = [name for name in _EXTENSIONS if kind == "xpu" and not _is_here(name)]
    with standing_in({name: _extension(name) for name in absent}):
        yield


def _is_here(name: str) -> bool:
    from importlib.machinery import PathFinder

    return name in sys.modules or PathFinder.find_spec(name) is not None


def _extension(name: str) -> ModuleType:
    module: Any = ModuleType(name)
    module.xpu, module.__version__ = torch.xpu, "0"

    def optimize(model: Any, *given: Any, **named: Any) -> Any:
        optimizer = named.get("optimizer")
        return model if optimizer is None else (model, optimizer)

    module.optimize = optimize
    return module  # type: ignore[no-any-return]
