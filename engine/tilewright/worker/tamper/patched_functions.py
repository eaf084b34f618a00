"""The functions that judging and timing rest on: are they still the ones they were?"""

from __future__ import annotations

import builtins
import io
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import triton
from triton.compiler import compiler
from triton.runtime import autotuner, interpreter, jit

from ..host import device_api

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
_WRAPPED = (staticmethod, classmethod, property)

Identities = dict[str, dict[str, Any]]
_SHARED = ("torch.Tensor", "torch.cuda.Event", "triton.JITFunction", "torch.nn.Module")


def identities() -> Identities:
    """What every name of the watched namespaces stands for now.

    A function's code is watched by its audit event, so the object is enough here.
    """
    return {name: dict(vars(owner)) for name, owner in (*_NAMESPACES, *_our_modules())}


def replaced(before: Identities, after: Identities) -> list[str]:
    """Callables that are others now or gone, and new ones in classes that all objects share."""
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


def _our_modules() -> Iterator[tuple[str, Any]]:
    for name, module in list(sys.modules.items()):
        if name.startswith(_OURS) and module is not None:
            yield name, module
