"""What the user's modules keep between calls: tensors they can reach, and values that change."""

from __future__ import annotations

import functools
import gc
import itertools
import operator
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import (
    CodeType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)  # fmt: skip
from typing import Annotated, Any

import torch
from triton.runtime.autotuner import Autotuner, Config, Heuristics
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

from .function_caches import CHANGEABLE, IN_CACHES, cached_parts, tensors_in
from .user_frames import is_users

_KERNELS = (JITFunction, Autotuner, Heuristics, InterpretedFunction)
_HOLDERS = (SimpleNamespace, ModuleType, threading.local, Config, torch.nn.Module)
_PLAIN = (int, float, complex, str, bytes, bool, type(None))
_CACHED = type(functools.lru_cache(lambda: None))

_MOST_NODES = 5000
_MOST_ITEMS = 500
_IMPORTING = ("__builtins__", "__loader__", "__spec__")
# Their objects hold what they were given: iterators, properties, bound methods, chained mappings.
_HOLDING = ("builtins", "itertools", "functools", "collections", "types", "dataclasses")
_ANNOTATED: Any = type(Annotated[int, 0])
_PASSED_BY = (CodeType, ModuleType)


@dataclass
class Kept:
    """What was found.

    Attributes:
        tensors: bytes of each by the way to it.
        values: plain values and sizes, likewise.
        modules: the names that ways begin with.
        unseen: those of them that reach more than was looked through.
    """

    tensors: dict[str, int] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)
    unseen: set[str] = field(default_factory=set)


def kept_by(module_file: str, model: Any = None) -> Kept:
    """What the modules of the file's folder, and a model made from it, can reach."""
    walk = _Walk()
    for name, module in _modules_of(module_file):
        walk.take(list(vars(module).items()), name)
    if model is not None:
        walk.take(_instance(model), type(model).__name__)
    return walk.kept


def tensors_kept_by(
    module_file: str, model: Any = None, *, alone: bool = False
) -> dict[str, torch.Tensor]:
    """Those tensors themselves, by the way to each; ``alone``: of the model alone."""
    walk = _Walk()
    for name, module in () if alone else _modules_of(module_file):
        walk.take(list(vars(module).items()), name)
    if model is not None:
        walk.take(_instance(model), type(model).__name__)
    return walk.held


def _modules_of(module_file: str) -> list[tuple[str, ModuleType]]:
    """Modules of the file's folder, as they are called there."""
    found = []
    for name in _names_of(module_file, len(sys.modules)):
        module = sys.modules.get(name)
        if isinstance(module, ModuleType):
            found.append((Path(str(module.__file__)).stem, module))
    return found


@functools.lru_cache(maxsize=8)
def _names_of(module_file: str, loaded: int) -> tuple[str, ...]:
    places = (Path(module_file).parent, Path(module_file).resolve().parent)
    folders = tuple(f"{place}/" for place in places)
    return tuple(
        name
        for name, module in list(sys.modules.items())
        if _libraries.get(name) is not module
        and isinstance(file := getattr(module, "__file__", None), str)
        and file.startswith(folders)
    )


_libraries: dict[str, ModuleType] = {}


def know_libraries() -> None:
    """Pass by the modules that are there before any code under test is: none of them is its own.

    A process that is forked later need not look at each, which would copy the memory they lie in.
    """
    _libraries.update({name: module for name, module in sys.modules.items() if module is not None})


def _instance(value: Any) -> list[tuple[str, Any]]:
    """An instance's attributes; a torch module's parameters and saved buffers are its contract."""
    try:
        attributes = dict(vars(value))
    except TypeError:
        return []
    if isinstance(value, torch.nn.Module):
        for name in ("_parameters", "_buffers"):
            attributes[name] = len(attributes.get(name, ()))
        for name in sorted(attributes.get("_non_persistent_buffers_set", ())):
            attributes[name] = value._buffers.get(name)
    return list(attributes.items())


class _Walk:
    """Follows references from names; each object once."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.held: dict[str, torch.Tensor] = {}
        self._seen: set[int] = set()

    def take(self, named: Iterable[tuple[str, Any]], prefix: str) -> None:
        """Follow some names."""
        self.kept.modules.add(prefix)
        pending = deque(
            (f"{prefix}.{name}", value) for name, value in named if name not in _IMPORTING
        )
        while pending:
            if len(self._seen) >= _MOST_NODES:
                self.kept.unseen.add(prefix)
                return
            way, value = pending.popleft()
            if isinstance(value, torch.Tensor):
                self.kept.tensors[way] = int(value.numel() * value.element_size())
                self.held[way] = value
            if isinstance(value, _PLAIN):
                self.kept.values[way] = value
                continue
            if id(value) in self._seen:
                continue
            self._seen.add(id(value))
            if (state := _state_of(value)) is not None:
                self.kept.values[way] = state
            pending.extend((f"{way}{step}", one) for step, one in _parts(value))


def _state_of(value: Any) -> Any:
    """What tells whether an object has changed by itself; None where its parts tell."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, CHANGEABLE):
        return len(value)
    if isinstance(value, itertools.count):
        return repr(value)
    if isinstance(value, torch.Generator):
        return bytes(value.get_state().cpu().numpy())
    if hasattr(type(value), "__length_hint__"):
        return operator.length_hint(value)
    return None


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value refers to, as far as somebody could keep something there."""
    if isinstance(value, torch.Tensor) or _is_elsewhere(value):
        return
    if isinstance(value, dict):
        yield from _items_of(value)
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from _elements_of(list(value))
    elif isinstance(value, FunctionType):
        yield from _function_parts(value)
    elif isinstance(value, _CACHED):
        yield from cached_parts(value)
    elif isinstance(value, _KERNELS):
        yield from _kernel_parts(value)
    else:
        yield from _other_parts(value)


def _items_of(value: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    items = list(value.items())
    for at, (key, one) in enumerate(items[:_MOST_ITEMS]):
        yield f"[{key!r}]" if isinstance(key, _PLAIN) else f"[{at}]", one
        if not isinstance(key, _PLAIN):
            yield f"[key {at}]", key
    yield from _elements_of([*(one for pair in items[_MOST_ITEMS:] for one in pair)], "rest ")


def _elements_of(values: list[Any], of: str = "") -> Iterator[tuple[str, Any]]:
    """Each element; plain ones of a long list together."""
    yield from ((f"[{of}{at}]", one) for at, one in enumerate(values[:_MOST_ITEMS]))
    rest = values[_MOST_ITEMS:]
    if rest:
        plain = tuple(one for one in rest if isinstance(one, _PLAIN))
        yield f"[{of}from {_MOST_ITEMS}]", hash(plain)
        yield from (
            (f"[{of}{at}]", one)
            for at, one in enumerate(rest, _MOST_ITEMS)
            if not isinstance(one, _PLAIN)
        )


def _is_elsewhere(value: Any) -> bool:
    """An imported module, or a class of a library: watched as such, not as the user's state."""
    if isinstance(value, ModuleType):
        return sys.modules.get(value.__name__) is value
    return isinstance(value, type) and not is_users(value.__module__)


def _function_parts(function: FunctionType) -> Iterator[tuple[str, Any]]:
    if not is_users(function.__module__):
        return
    yield from ((".default", one) for one in function.__defaults__ or ())
    yield from ((".default", one) for one in (function.__kwdefaults__ or {}).values())
    yield from ((f".annotation {n}", one) for n, one in function.__annotations__.items())
    yield from ((f".{name}", one) for name, one in vars(function).items())
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield f".{name}", cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _kernel_parts(kernel: Any) -> Iterator[tuple[str, Any]]:
    """Attributes of a kernel that Triton did not set."""
    yield ".fn", kernel.fn
    known = _names_in(kernel.__class__)
    for name, one in list(vars(kernel).items()):
        if name not in known or isinstance(one, list):
            yield f".{name}", one
        elif isinstance(one, IN_CACHES) and name != "nargs":  # of the last launch
            yield from ((f".{name}[{at}]", kept) for at, kept in enumerate(tensors_in(one)))


@functools.lru_cache(maxsize=8)
def _names_in(kind: Any) -> frozenset[str]:
    """Attributes that the modules of a class and of its bases name: what Triton itself sets."""
    names: set[str] = set()
    pending: list[Any] = []
    for owner in kind.__mro__:
        pending += vars(sys.modules[owner.__module__]).values() if owner is not object else ()
        pending += vars(owner).values()
        names |= set(vars(owner))
    seen: set[int] = set()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        code = one if isinstance(one, CodeType) else getattr(one, "__code__", None)
        if isinstance(code, CodeType):
            names |= set(code.co_names)
            pending += [part for part in code.co_consts if isinstance(part, CodeType)]
        elif isinstance(one, type) and one.__module__.startswith("triton."):
            pending += vars(one).values()
        elif isinstance(one, property | staticmethod | classmethod | functools.cached_property):
            pending += [getattr(one, part, None) for part in ("fget", "__func__", "func")]
    return frozenset(names)


def _other_parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, MethodType):
        yield ".self", value.__self__
    elif isinstance(value, functools.partial):
        yield from ((".argument", one) for one in (*value.args, *value.keywords.values()))
        yield ".function", value.func
    elif isinstance(value, GeneratorType):
        frame = value.gi_frame
        yield from () if frame is None else ((f".{n}", v) for n, v in frame.f_locals.items())
    elif isinstance(value, type):
        yield from ((f".{n}", v) for n, v in vars(value).items() if n != "__dict__")
    elif isinstance(value, ContextVar):
        yield ".value", value.get(None)
    elif isinstance(value, _HOLDERS) or is_users(type(value).__module__):
        yield from ((f".{name}", one) for name, one in _instance(value))
        yield from _slots_of(value)
    elif isinstance(value, _ANNOTATED):
        yield ".metadata", value.__metadata__
    elif type(value).__module__.removeprefix("_") in _HOLDING:
        yield from ((f".part[{at}]", one) for at, one in enumerate(_held_by(value)))


def _slots_of(value: Any) -> Iterator[tuple[str, Any]]:
    for owner in type(value).__mro__:
        for name, slot in vars(owner).items():
            if isinstance(slot, MemberDescriptorType) and hasattr(value, name):
                yield f".{name}", getattr(value, name)


def _held_by(value: Any) -> list[Any]:
    """What an object of C refers to, its class and code aside."""
    if isinstance(value, _PASSED_BY):
        return []
    return [one for one in gc.get_referents(value) if one is not type(value)]
