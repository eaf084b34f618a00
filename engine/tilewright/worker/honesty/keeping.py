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
from types import CodeType, FunctionType, GeneratorType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import torch
from triton.runtime.autotuner import Autotuner, Config, Heuristics
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

from .frames import USER, kind_of

_KERNELS = (JITFunction, Autotuner, Heuristics, InterpretedFunction)
_HOLDERS = (SimpleNamespace, ModuleType, threading.local)
_PLAIN = (int, float, complex, str, bytes, bool, type(None))
_CACHED = type(functools.lru_cache(lambda: None))

_IN_CACHES = (dict, list, tuple, set, frozenset)
_ADVANCING: tuple[Any, ...] = (type(iter(())), type(iter([])), type(iter(range(0))))
_MOST_NODES = 5000
_MOST_ITEMS = 500
_DEEPEST = 8


@dataclass
class Kept:
    """What was found.

    Attributes:
        tensors: bytes of each by the way to it.
        values: plain values and sizes, likewise.
        modules: the names that ways begin with.
    """

    tensors: dict[str, int] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)


def kept_by(module_file: str, model: Any = None) -> Kept:
    """What the modules of the file's folder, and a model made from it, can reach."""
    walk = _Walk()
    for name, module in _modules_of(module_file):
        walk.take(list(vars(module).items()), name)
    if model is not None:
        walk.take(_instance(model), type(model).__name__)
    return walk.kept


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
        if isinstance(file := getattr(module, "__file__", None), str) and file.startswith(folders)
    )


def _instance(value: Any) -> list[tuple[str, Any]]:
    """An instance's attributes; a torch module's parameters and buffers are its contract."""
    try:
        attributes = dict(vars(value))
    except TypeError:
        return []
    if isinstance(value, torch.nn.Module):
        for name in ("_parameters", "_buffers"):
            attributes[name] = len(attributes.get(name, ()))
    return list(attributes.items())


class _Walk:
    """Follows references from names; each object once."""

    def __init__(self) -> None:
        self.kept = Kept()
        self._seen: set[int] = set()

    def take(self, named: Iterable[tuple[str, Any]], prefix: str) -> None:
        """Follow some names."""
        self.kept.modules.add(prefix)
        pending = deque(
            (f"{prefix}.{name}", value, 0) for name, value in named if not _is_dunder(name)
        )
        while pending and len(self._seen) < _MOST_NODES:
            way, value, depth = pending.popleft()
            if isinstance(value, torch.Tensor):
                self.kept.tensors[way] = int(value.numel() * value.element_size())
            if isinstance(value, _PLAIN):
                self.kept.values[way] = value
                continue
            if id(value) in self._seen:
                continue
            self._seen.add(id(value))
            if isinstance(value, list | dict | set | deque | bytearray):
                self.kept.values[way] = len(value)
            elif isinstance(value, itertools.count):
                self.kept.values[way] = repr(value)
            elif isinstance(value, _ADVANCING):
                self.kept.values[way] = operator.length_hint(value)
            if depth < _DEEPEST:
                pending.extend((f"{way}{step}", one, depth + 1) for step, one in _parts(value))


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value refers to, as far as somebody could keep something there."""
    if isinstance(value, Config) or _is_elsewhere(value):
        return
    if isinstance(value, dict):
        for at, (key, one) in enumerate(list(value.items())[:_MOST_ITEMS]):
            yield f"[{key!r}]" if isinstance(key, _PLAIN) else f"[{at}]", one
            if not isinstance(key, _PLAIN):
                yield f"[key {at}]", key
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from ((f"[{at}]", one) for at, one in enumerate(list(value)[:_MOST_ITEMS]))
    elif isinstance(value, FunctionType):
        yield from _function_parts(value)
    elif isinstance(value, _CACHED):
        yield from ((f".cached[{at}]", one) for at, one in enumerate(_cached_tensors(value)))
    elif isinstance(value, _KERNELS):
        yield from _kernel_parts(value)
    else:
        yield from _other_parts(value)


def _cached_tensors(cached: Any) -> Iterator[torch.Tensor]:
    """Tensors among a cache's keys and results; that it remembers anything else is its purpose."""
    pending, seen = [(cached, 0)], set[int]()
    while pending:
        value, depth = pending.pop()
        for one in gc.get_referents(value):
            if isinstance(one, torch.Tensor):
                yield one
            elif id(one) not in seen and depth < _DEEPEST and isinstance(one, _IN_CACHES):
                seen.add(id(one))
                pending.append((one, depth + 1))


def _is_elsewhere(value: Any) -> bool:
    """An imported module, or a class of a library: watched as such, not as the user's state."""
    if isinstance(value, ModuleType):
        return sys.modules.get(value.__name__) is value
    return isinstance(value, type) and not _is_users(value.__module__)


def _is_users(module: Any) -> bool:
    file = getattr(sys.modules.get(str(module)), "__file__", None)
    return isinstance(file, str) and kind_of(file) == USER


def _function_parts(function: FunctionType) -> Iterator[tuple[str, Any]]:
    if not _is_users(function.__module__):
        return
    yield from ((".default", one) for one in function.__defaults__ or ())
    yield from ((".default", one) for one in (function.__kwdefaults__ or {}).values())
    yield from ((f".{name}", one) for name, one in vars(function).items())
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield f".{name}", cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _kernel_parts(kernel: Any) -> Iterator[tuple[str, Any]]:
    """What somebody hung on a kernel, beside what Triton keeps there."""
    yield ".fn", kernel.fn
    known = _names_in(kernel.__class__)
    yield from ((f".{name}", one) for name, one in list(vars(kernel).items()) if name not in known)


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
        yield from ((f".{n}", v) for n, v in vars(value).items() if not _is_dunder(n))
    elif isinstance(value, ContextVar):
        yield ".value", value.get(None)
    elif isinstance(value, _HOLDERS) or _is_users(type(value).__module__):
        yield from ((f".{name}", one) for name, one in _instance(value))
