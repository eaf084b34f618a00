"""Launches: which kernels of which files ran with how many programs, or none at all."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from triton.compiler.compiler import CompiledKernel
from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import GridExecutor
from triton.runtime.jit import JITFunction

from ..neuron import kernel_calls

if TYPE_CHECKING:
    from ..messages.trial import LaunchSeen


class Launches:
    """Counts launches by kernel while it is entered; on a device tuning runs count as well.

    ``seen``: by kernel name ``count``, ``programs`` (the most of one launch), ``file`` and ``line``
    of its definition. ``aside``: launches that went to another stream than the one at entry.
    """

    def __init__(self, module_file: str) -> None:
        self.seen: dict[str, LaunchSeen] = {}
        self.aside = 0
        self._folder = Path(module_file).resolve().parent
        self._stream: int | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Launches:
        self._stream = _current_stream()
        for owner, name, made in (
            (JITFunction, "run", self._jit(JITFunction.run)),
            (GridExecutor, "__call__", self._interpreted(GridExecutor.__call__)),
            (CompiledKernel, "__getitem__", self._compiled(CompiledKernel.__getitem__)),
        ):
            self._stack.enter_context(mock.patch.object(owner, name, made))
        self._stack.enter_context(kernel_calls.watched(self._simulated))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _jit(self, launch: Callable[..., Any]) -> Callable[..., Any]:
        def run(kernel: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
            if not warmup:
                grid = self._counted_grid(kernel.fn, grid)
            return launch(kernel, *args, grid=grid, warmup=warmup, **kwargs)

        return run

    def _interpreted(self, launch: Callable[..., Any]) -> Callable[..., Any]:
        def run(executor: Any, *args: Any, **kwargs: Any) -> Any:
            if not kwargs.get("warmup"):
                executor.grid = self._counted_grid(executor.fn, executor.grid)
            return launch(executor, *args, **kwargs)

        return run

    def _compiled(self, get: Callable[..., Any]) -> Callable[..., Any]:
        def item(compiled: Any, grid: Any) -> Any:
            runner = get(compiled, grid)
            function = getattr(getattr(compiled.src, "fn", None), "fn", None)

            def run(*args: Any, **kwargs: Any) -> Any:
                self._counted_grid(function, grid, getattr(compiled, "name", "a compiled kernel"))
                return runner(*args, **kwargs)

            return run

        return item

    def _simulated(self, kernel: Any, grid: Any) -> None:
        self._counted_grid(kernel, grid or (1,))

    def _counted_grid(self, function: Any, grid: Any, name: str = "a kernel") -> Any:
        """Count a launch; a grid that is a function is counted when it is asked."""
        entry = self._entry(function, name)
        entry["count"] += 1
        if self._stream is not None and _current_stream() not in (None, self._stream):
            self.aside += 1
        if not callable(grid):
            _count_programs(entry, grid)
            return grid

        def evaluated_grid(meta: Any) -> Any:
            made = grid(meta)
            _count_programs(entry, made)
            return made

        return evaluated_grid

    def _entry(self, function: Any, name: str) -> LaunchSeen:
        code = getattr(function, "__code__", None)
        name = getattr(function, "__name__", name)
        if name not in self.seen:
            file = "" if code is None else self._relative(code.co_filename)
            line = 0 if code is None else code.co_firstlineno
            self.seen[name] = {"count": 0, "programs": 0, "file": file, "line": line}
        return self.seen[name]

    def _relative(self, filename: str) -> str:
        """A file in the module's folder by its name there, any other by its whole path."""
        path = Path(filename).resolve()
        inside = path.is_relative_to(self._folder)
        return str(path.relative_to(self._folder)) if inside else str(path)


def _count_programs(entry: LaunchSeen, grid: Any) -> None:
    with contextlib.suppress(TypeError, ValueError):  # what is no grid fails in the launch itself
        entry["programs"] = max(entry["programs"], math.prod(int(size) for size in grid))


def _current_stream() -> int | None:
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    return int(torch.cuda.current_stream().cuda_stream)


@contextlib.contextmanager
def launches_skipped() -> Iterator[None]:
    """Every launch does nothing, autotuning included; compiling by ``warmup`` goes on."""
    compile_one = JITFunction.run

    def run(kernel: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        return compile_one(kernel, *args, grid=grid, warmup=True, **kwargs) if warmup else None

    def nothing(*args: Any, **kwargs: Any) -> None:
        return None

    def no_runner(compiled: Any, grid: Any) -> Any:
        return nothing

    with (
        mock.patch.object(JITFunction, "run", run),
        mock.patch.object(Autotuner, "run", nothing),
        mock.patch.object(GridExecutor, "__call__", nothing),
        mock.patch.object(CompiledKernel, "__getitem__", no_runner),
        kernel_calls.skipped(),
    ):
        yield


def unchanged_share(real: Sequence[torch.Tensor], skipped: Sequence[torch.Tensor]) -> float:
    """The share of elements, between 0 and 1, that equal the real ones though no kernel ran.

    NaN equals NaN, as the same bits would. Results of other shapes or numbers share nothing. What
    is in general not the kernels' work, such as zeros of an output that host code cleared, counts
    too: compare with the original's share.
    """
    total = same = 0
    for one, other in zip(real, skipped, strict=False):
        total += one.numel()
        if one.shape == other.shape and one.dtype == other.dtype:
            equal = one == other.to(one.device)
            if one.is_floating_point() or one.is_complex():
                equal |= torch.isnan(one) & torch.isnan(other.to(one.device))
            same += int(equal.sum())
    if len(real) != len(skipped):
        return 0.0
    return same / total if total else 0.0
