"""Whose code is running: the file under test and what it brought, or a library."""

from __future__ import annotations

import contextlib
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
import triton

USER, TRITON, TRANSPARENT, IMPORTING = "user", "triton", "transparent", "importing"
HARNESS = "harness"

_OURS = str(Path(__file__).parents[1])
_WATCHING = str(Path(__file__).parent)
# By these a mode passes a call of the user's on; what it does of itself is not the user's.
_PASSING_ON = ("__torch_function__", "__torch_dispatch__")
_TRITON = str(Path(str(triton.__file__)).parent)
_LIBRARIES = (
    *(str(Path(str(part.__file__)).parent) for part in (torch, np)),
    *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib")),
)
_PACKAGES = ("/site-packages/", "/dist-packages/")


@lru_cache(maxsize=4096)
def kind_of(filename: str) -> str:
    """Whose a code object's file is.

    The standard library, installed packages and what watches act for whoever calls them:
    ``TRANSPARENT``. Code without a file, as ``exec`` makes it, is the user's.
    """
    if filename.startswith("<frozen importlib"):
        return IMPORTING
    if filename.startswith(_TRITON):
        return TRITON
    if filename.startswith(_OURS) and not filename.startswith(_WATCHING):
        return HARNESS
    if filename.startswith(("<frozen ", _OURS, *_LIBRARIES)):
        return TRANSPARENT
    return TRANSPARENT if any(part in filename for part in _PACKAGES) else USER


def is_users(module: Any) -> bool:
    """Whether a module, by the name it is imported as, is the user's."""
    file = getattr(sys.modules.get(str(module)), "__file__", None)
    return isinstance(file, str) and kind_of(file) == USER


_PASSING = (_WATCHING, str(contextlib.__file__))
_outside: set[int] = set()


@contextlib.contextmanager
def inside() -> Iterator[None]:
    """The frames that are there already are not the user's: whoever watches the block."""
    before = set(_outside)
    frame: FrameType | None = sys._getframe(0)
    while frame is not None:
        # What ends before the block does would give its id away to a frame of the user's.
        if not frame.f_code.co_filename.startswith(_PASSING):
            _outside.add(id(frame))
        frame = frame.f_back
    try:
        yield
    finally:
        _outside.clear()
        _outside.update(before)


def user_frame(start: FrameType | None) -> FrameType | None:
    """The innermost frame of the user's on whose behalf code runs; None when a library acts."""
    while start is not None and id(start) not in _outside:
        kind = kind_of(start.f_code.co_filename)
        if kind == USER:
            return start
        is_passed_on = kind == HARNESS and start.f_code.co_name in _PASSING_ON
        if kind != TRANSPARENT and not is_passed_on:
            return None
        start = start.f_back
    return None


def place(frame: FrameType) -> str:
    """``file:line`` of a frame."""
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
