"""Contents of function caches: tensors, and mutable results."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch
from triton.runtime.autotuner import Config

from .user_frames import is_users

IN_CACHES = (dict, list, tuple, set, frozenset, Config)
CHANGEABLE = (dict, list, set, deque, bytearray)
_DEEPEST = 8

RESULTS = ".cached<"
"""In the way to what a cache handed out: a new result is its purpose, a changed one is not."""


def cached_parts(cached: Any) -> Iterator[tuple[str, Any]]:
    """What hangs on a cache, tensors among its keys and results, and results that can change."""
    yield from ((f".{name}", one) for name, one in vars(cached).items())
    for at, one in enumerate(tensors_in(cached)):
        yield f".cached[{at}]", one
    for one in _cached_results(cached):
        if isinstance(one, CHANGEABLE) or is_users(type(one).__module__):
            yield f"{RESULTS}{id(one):x}>", one


def _cached_results(cached: Any) -> Iterator[Any]:
    """Results, as the cache's memory has them: of an unlimited one they are in a dictionary."""
    is_unlimited = cached.cache_parameters()["maxsize"] is None
    for one in gc.get_referents(cached):
        if one is vars(cached) or isinstance(one, type | FunctionType):
            continue
        if not isinstance(one, dict):
            yield one
        elif is_unlimited:
            yield from one.values()
        elif not any(type(value).__name__ == "_lru_list_elem" for value in one.values()):
            yield one


def tensors_in(holder: Any) -> Iterator[torch.Tensor]:
    """Tensors in the containers that an object of C or of Triton refers to."""
    pending, seen = [(holder, 0)], set[int]()
    while pending:
        value, depth = pending.pop()
        for one in gc.get_referents(value):
            if isinstance(one, torch.Tensor):
                yield one
            elif id(one) not in seen and depth < _DEEPEST and isinstance(one, IN_CACHES):
                seen.add(id(one))
                pending.append((one, depth + 1))
