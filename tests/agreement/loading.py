"""Importing a corpus's files where there is no GPU, and finding their jit functions."""

import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import triton.language as tl
from piecewise import load_piecewise, module_name
from refusals import REFUSALS
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from tilewright.worker.host import absent_device


@dataclass(frozen=True)
class JitFunction:
    """A jit function of a file, with what its decorators say."""

    function: Any
    configs: tuple[Any, ...]
    heuristics: Mapping[str, Callable[[dict[str, Any]], Any]]


@contextlib.contextmanager
def without_device(root: Path, home: Path) -> Iterator[None]:
    """Import from ``root`` as if a GPU were there; what is written to the home goes to ``home``."""
    # flag_gems asks for its vendor first, and keeps tuning results in the home.
    environment = {
        "GEMS_VENDOR": "nvidia",
        "HOME": str(home),
        "TRITON_CACHE_DIR": str(home),
        "TRITON_DEFAULT_FP_FUSION": "1",
    }
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(sys, "path", [str(root), *sys.path]),
        mock.patch.object(driver, "_active", driver._active),  # pretending leaves it set
        absent_device.no_driver(),
        _older_names(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _older_names() -> Iterator[None]:
    """Functions where older and vendors' Tritons have them."""
    with contextlib.ExitStack() as stack:
        for name in ("tanh", "rsqrt", "pow"):
            function = getattr(libdevice, name)
            for place in (tl.math, cuda_libdevice):
                if not hasattr(place, name):
                    stack.enter_context(mock.patch.object(place, name, function, create=True))
        yield


def load(root: Path, path: Path) -> ModuleType:
    """Import a file under the name it has in its package.

    A file for a vendor whose libraries are not here does not import; its kernels often need none
    of them. Such a file is run statement by statement, leaving out what fails.
    """
    try:
        return importlib.import_module(module_name(root, path))
    except REFUSALS:
        return load_piecewise(root, path)


def jit_functions(module: ModuleType) -> dict[str, JitFunction]:
    """The jit functions that a module defines, below whatever decorators, by function name."""
    found = {}
    for value in vars(module).values():
        jit = _unwrapped(value)
        if jit is not None and jit.function.fn.__module__ == module.__name__:
            found[jit.function.fn.__name__] = jit
    return found


def _unwrapped(value: Any) -> JitFunction | None:
    """Through autotuners, heuristics and wrappers of a library's own, which keep it as ``fn``."""
    configs: tuple[Any, ...] = ()
    heuristics: dict[str, Any] = {}
    for _ in range(8):
        if isinstance(value, JITFunction):
            return JitFunction(value, configs, heuristics)
        if isinstance(value, Autotuner):
            configs = configs or tuple(value.configs)
        if isinstance(value, Heuristics):
            heuristics.update(value.values or {})
        below = vars(value) if hasattr(value, "__dict__") else {}
        value = below.get("fn", below.get("_scalar_fn"))
    return None
