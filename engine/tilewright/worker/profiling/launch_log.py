"""The launches of one call as they were really made: what was given, and how long each took."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from triton.runtime.interpreter import GridExecutor
from triton.runtime.jit import JITFunction

from ..launches.hooks import bind, describe, plain_options

if TYPE_CHECKING:
    from ..messages.jobs import InterpretedLaunch
    from ..messages.parts import Launch


class LaunchLog:
    """Launches in the order they were made, with events (on the host, its clock) around each.

    Attributes:
        launches: ``LaunchFacts`` as JSON; an interpreted launch has its kernel's name alone.
    """

    def __init__(self, device: str) -> None:
        kind = device.split(":")[0]
        self._api: Any = None if kind == "cpu" else getattr(torch, kind)
        self.launches: list[Launch | InterpretedLaunch] = []
        self._marks: list[tuple[Any, Any]] = []

    def times_us(self) -> list[float]:
        """Microseconds of each launch; the device must have finished them."""
        if self._api is None:
            return [(end - start) * 1e6 for start, end in self._marks]
        return [start.elapsed_time(end) * 1e3 for start, end in self._marks]

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Log every launch that is made meanwhile."""
        run, executed = JITFunction.run, GridExecutor.__call__

        def logged(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("warmup"):
                return run(kernel, *args, **kwargs)
            self.launches.append(_facts(kernel, args, dict(kwargs)))
            return self._timed(lambda: run(kernel, *args, **kwargs))

        def interpreted(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            self.launches.append({"kernel": kernel.fn.__name__})
            return self._timed(lambda: executed(kernel, *args, **kwargs))

        with (
            mock.patch.object(JITFunction, "run", logged),
            mock.patch.object(GridExecutor, "__call__", interpreted),
        ):
            yield

    def _timed(self, launch: Callable[[], Any]) -> Any:
        start = self._mark()
        made = launch()
        self._marks.append((start, self._mark()))
        return made

    def _mark(self) -> Any:
        if self._api is None:
            return time.perf_counter()
        event = self._api.Event(enable_timing=True)
        event.record()
        return event


def _facts(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Launch:
    """One launch as ``LaunchFacts``, its grid evaluated."""
    grid = kwargs.pop("grid")
    kwargs.pop("warmup", None)
    bound, options = bind(kernel, args, kwargs)
    if callable(grid):
        grid = grid(bound)
    return {
        "kernel": kernel.fn.__name__,
        "grid": [int(size) for size in grid],
        "arguments": [describe(param, bound[param.name]) for param in kernel.params],
        "options": plain_options(options),
    }
