"""The functions that judging and timing rest on: are they still the ones they were?"""

from __future__ import annotations

import builtins
import ctypes
import functools
import io
import json
import math
import os
import statistics
import sys
import time
from itertools import chain
from typing import Any

import numpy as np
import torch
import triton
from triton.compiler import compiler
from triton.runtime import autotuner, interpreter, jit

from ..host import device_api
from ..neuron import kernel_calls

_NAMESPACES: tuple[tuple[str, Any], ...] = (
    ("builtins", builtins), ("time", time), ("json", json), ("os", os), ("io", io), ("sys", sys),
    ("math", math), ("statistics", statistics), ("numpy", np),
    ("torch", torch), ("torch.Tensor", torch.Tensor), ("torch.TensorBase", torch._C.TensorBase),
    ("torch.cuda", torch.cuda), ("torch.cuda.Event", torch.cuda.Event),
    ("torch.cuda.Stream", torch.cuda.Stream), ("torch.xpu", torch.xpu),
    ("torch.cuda.Event (no GPU)", device_api.Event),
    ("torch.cuda.Stream (no GPU)", device_api.Stream),
    ("torch.testing", torch.testing), ("torch.nn.functional", torch.nn.functional),
    ("torch.nn.Module", torch.nn.Module), ("torch.linalg", torch.linalg),
    ("triton", triton), ("triton.testing", triton.testing), ("triton.language", triton.language),
    ("triton.runtime.jit", jit), ("triton.JITFunction", jit.JITFunction),
    ("triton.runtime.autotuner", autotuner), ("triton.Autotuner", autotuner.Autotuner),
    ("triton.compiler", compiler), ("triton.CompiledKernel", compiler.CompiledKernel),
    ("triton.runtime.interpreter", interpreter),
    ("triton.GridExecutor", interpreter.GridExecutor),
    ("triton.InterpreterBuilder", interpreter.InterpreterBuilder),
)  # fmt: skip

_OURS = __name__.rpartition(".tamper")[0]
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_WRAPPED = (staticmethod, classmethod, property)

Identities = dict[str, dict[str, Any]]
_SHARED = ("torch.Tensor", "torch.cuda.Event", "triton.JITFunction", "torch.nn.Module")


def identities() -> Identities:
    """What every name of the watched namespaces stands for now.

    A function's code is watched by its audit event, so the object is enough here.
    """
    every = (*_NAMESPACES, *_our_modules(), *kernel_calls.stand_ins())
    return {name: vars(owner).copy() for name, owner in every}


def replaced(before: Identities, after: Identities) -> list[str]:
    """Callables that are others now or gone, and new ones in classes that all objects share."""
    if list(before) == list(after) and _addresses(before) == _addresses(after):
        return []
    found = []
    for owner, names in before.items():
        now = after.get(owner, {})
        found += [
            f"{owner}.{name}"
            for name, value in names.items()
            if now.get(name) is not value and (callable(value) or isinstance(value, _WRAPPED))
        ]
        if owner.startswith(_SHARED):
            found += [f"{owner}.{name}" for name in now if name not in names]
    return found


def _addresses(found: Identities) -> bytes:
    """Where all names and what they stand for lie, read from the memory of one tuple: no member is
    asked, as it would be by ``==``, and could say that it is another; and none costs a step."""
    every = tuple(
        chain(
            chain.from_iterable(found.values()),
            chain.from_iterable(map(dict.values, found.values())),
        )
    )
    return ctypes.string_at(id(every) + tuple.__basicsize__, len(every) * _POINTER)


def _our_modules() -> list[tuple[str, Any]]:
    named = ((name, sys.modules.get(name)) for name in _our_names(len(sys.modules)))
    return [(name, module) for name, module in named if module is not None]


@functools.lru_cache(maxsize=4)
def _our_names(loaded: int) -> tuple[str, ...]:
    """The names of our modules, looked up again when the number of modules has changed."""
    return tuple(name for name in list(sys.modules) if name.startswith(_OURS))
