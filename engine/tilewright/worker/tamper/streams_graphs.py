"""Streams, CUDA graphs and compiled functions that the user's code makes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch

from ..host import device_api
from .user_frames import place, user_frame

_CLASSES = (
    ("a stream", torch.cuda.Stream), ("a stream", torch.cuda.ExternalStream),
    ("a stream", torch.xpu.Stream), ("a CUDA graph", torch.cuda.CUDAGraph),
    ("a CUDA event", torch.cuda.Event),
    ("a stream", device_api.Stream), ("a CUDA event", device_api.Event),
)  # fmt: skip


# These wrap a stream that is there already.
_ASKING = frozenset(
    function.__code__
    for function in (
        torch.cuda.current_stream, torch.cuda.default_stream, torch.xpu.current_stream
    )
)  # fmt: skip


class Making:
    """Notes what is constructed while it is entered, where the user's code asked for it.

    ``seen``: what was made, with the first place.
    """

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Making:
        for what, kind in _CLASSES:
            if "__new__" in vars(kind):
                made = staticmethod(self._noting(what, kind.__new__))
                self._stack.enter_context(mock.patch.object(kind, "__new__", made))
        compiled = self._noting("a function compiled by torch", torch.compile)
        self._stack.enter_context(mock.patch.object(torch, "compile", compiled))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _noting(self, what: str, make: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*args: Any, **kwargs: Any) -> Any:
            caller = sys._getframe(1)
            frame = user_frame(caller)
            if frame is not None and caller.f_code not in _ASKING:
                self.seen.setdefault(what, place(frame))
            return make(*args, **kwargs)

        return noting
