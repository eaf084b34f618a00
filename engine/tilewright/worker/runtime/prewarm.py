"""What every child of a fork server would do again: done once before the fork, or not at all."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
from typing import Any

# Where Triton keeps the function, by version.
_KEY_HOLDERS = ("triton.runtime.cache", "triton.compiler.compiler")
_KEY = "triton_key"


def before_compiling() -> None:
    """Import what Triton imports with its first kernel; nothing happens the second time."""
    with contextlib.suppress(ImportError):
        importlib.import_module("triton.compiler.code_generator")


def before_launching() -> None:
    """The same, and have Triton hash its own files, which takes a third of a second."""
    before_compiling()
    for holder in _holders():
        with contextlib.suppress(OSError):
            getattr(holder, _KEY)()


def without_tritons_cache() -> None:
    """For a child that only compiles: its kernels go into its scratch folder, found by no other.

    Their names there need no hash of Triton's files then.
    """
    os.environ["TRITON_CACHE_DIR"] = os.path.join(tempfile.gettempdir(), "triton")  # noqa: PTH118
    for holder in _holders():
        setattr(holder, _KEY, _no_key)


def _no_key() -> str:
    return "of no other process"


def _holders() -> list[Any]:
    loaded = (sys.modules.get(name) for name in _KEY_HOLDERS)
    return [module for module in loaded if hasattr(module, _KEY)]
