"""Interpreted launches whose programs are computed together where that changes no result.

Triton's interpreter runs one program after another, and most of its time does not depend on the
size of a block. Here the programs of a launch are computed as a batch, and what each of them
touches is recorded. Where one touches what another stores, where the kernel uses something that
batches do not have, and where anything fails, all stores are undone and the interpreter runs the
programs one after another.
"""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import torch
import triton
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter
from triton.runtime.interpreter import GridExecutor, TensorDescHandle

from . import batches
from .batch_builder import BatchBuilder, block_pointers_of
from .batches import Batch, DivergedError, UnbatchableError
from .footprints import ConflictError, Footprints

_FIRST = 32
_MOST = 4096
_ELEMENTS = 1 << 19
_NO_PROGRAMS = (0, 1, 1)
_MEMORY = interpreter._interpreter
"""As Triton has it: nobody watches what is kept account of here."""
_FAILURES = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, NameError, OSError,
    RuntimeError, TypeError, ValueError, triton.TritonError,
)  # fmt: skip

Turn = Callable[[int], Sequence[int]]


@dataclass
class Tally:
    """How launches were computed.

    Attributes:
        programs: of all launches.
        steps: batches, and programs that ran by themselves.
        alone: why programs of a kernel ran by themselves, by its name.
    """

    programs: int = 0
    steps: int = 0
    alone: dict[str, str] = field(default_factory=dict)

    def add(self, more: Mapping[str, Any]) -> None:
        """Add another tally, as JSON."""
        self.programs += int(more.get("programs", 0))
        self.steps += int(more.get("steps", 0))
        self.alone |= more.get("alone") or {}


class Launcher:
    """Computes launches; knows for which kernels that was no use.

    Attributes:
        turn: the order of so many programs.
    """

    def __init__(self) -> None:
        self.turn: Turn = range
        self.tally = Tally()
        self._refused: dict[Any, str] = {}
        self._widest: dict[Any, int] = {}

    def launched(self, executor: Any, given: Any, arguments: Any, grid: Any) -> bool:
        """Whether a launch is done; if not, nothing of it is.

        ``given``: the host's arguments; ``arguments``: the same as the kernel gets them, by name.
        """
        extents = tuple(int(one) for one in grid)
        extents = (*extents, *[1] * (3 - len(extents)))
        count = math.prod(extents)
        self.tally.programs += count
        if count < 2 or len(extents) > 3:
            self.tally.steps += count
            return False
        why = self._refused.get(executor.fn) or self._together(
            executor.fn, given, arguments, extents
        )
        if why:
            self._refused[executor.fn] = why
            self.tally.alone[executor.fn.__name__] = why
            self.tally.steps += count
        return not why

    def _together(self, kernel: Any, given: Any, arguments: Any, grid: Any) -> str:
        """Why a launch's programs cannot be computed together, where they cannot."""
        interpreter.interpreter_builder.set_grid_dim(*grid)
        footprints = Footprints(_regions(given), _MEMORY)
        seen = _Seen()
        try:
            steps = self._batches(kernel, arguments, grid, footprints)
        except (UnbatchableError, ConflictError) as error:
            why = str(error)
        except _FAILURES as error:
            why = f"{type(error).__name__}: {error}"
        else:
            self.tally.steps += steps
            return ""
        footprints.take_back()
        seen.restore()
        return why

    def _batches(self, kernel: Any, arguments: Any, grid: Any, footprints: Footprints) -> int:
        """How many batches it took."""
        count = math.prod(grid)
        programs = np.asarray(self.turn(count), dtype=np.int64)
        waiting = deque([programs])
        steps, tries = 0, 4 + count // 8
        while waiting:
            programs = waiting.popleft()
            most = self._most(kernel)
            if len(programs) > most:
                waiting.appendleft(programs[most:])
                programs = programs[:most]
            batch = Batch(programs, grid, footprints)
            stores, seen = footprints.stores, _Seen()
            try:
                with _building(batch):
                    kernel(**arguments)
            except DivergedError as diverged:
                footprints.take_back(stores)
                seen.restore()
                waiting.extendleft(programs[part] for part in reversed(diverged.parts))
                tries -= len(diverged.parts)
                if tries < 0:
                    raise UnbatchableError("programs go too many ways") from None
                continue
            steps += 1
            self._widest[kernel] = max(self._widest.get(kernel, 1), batch.widest)
        return steps

    def _most(self, kernel: Any) -> int:
        """Programs of a batch: as many as fit into a processor's cache."""
        if kernel not in self._widest:
            return _FIRST
        return max(8, min(_MOST, _ELEMENTS // self._widest[kernel]))


class _Seen:
    """What whoever watches memory has seen so far."""

    def __init__(self) -> None:
        watch = getattr(interpreter._interpreter, "snapshot", None)
        self.restore: Callable[[], None] = watch() if watch is not None else lambda: None


_launcher: Launcher | None = None


@contextlib.contextmanager
def together() -> Iterator[Launcher]:
    """Compute launches in batches inside the block."""
    global _launcher
    launch = GridExecutor.__call__

    def launched(executor: Any, *args: Any, **kwargs: Any) -> Any:
        grid = executor.grid

        def computed_grid(arguments: Any) -> Any:
            made = grid(arguments) if callable(grid) else grid
            done = launcher.launched(executor, [*args, *kwargs.values()], arguments, made)
            return _NO_PROGRAMS if done else made

        executor.grid = computed_grid
        try:
            return launch(executor, *args, **kwargs)
        finally:
            executor.grid = grid

    launcher = _launcher = Launcher()
    try:
        with (
            mock.patch.object(GridExecutor, "__call__", launched),
            mock.patch.object(interpreter, "TritonSemantic", _semantic),
        ):
            yield launcher
    finally:
        _launcher = None


def _semantic(builder: Any) -> Any:
    """The one semantic of the interpreter's builder: up to Triton 3.6 each function of the language
    gets its own, which no batch would reach."""
    if builder is interpreter.interpreter_builder:
        return interpreter.interpreter_semantic
    return TritonSemantic(builder)


@contextlib.contextmanager
def in_turn(turn: Turn) -> Iterator[None]:
    """Have batches be of programs in this order."""
    if _launcher is None:
        yield
        return
    with mock.patch.object(_launcher, "turn", turn):
        yield


@contextlib.contextmanager
def separately() -> Iterator[None]:
    """Compute each program of a launch by itself."""
    if _launcher is None:
        yield
        return
    with mock.patch.object(_launcher, "launched", return_value=False):
        yield


def take_tally() -> Tally:
    """How launches were computed since the last time; begins anew."""
    if _launcher is None:
        return Tally()
    tally, _launcher.tally = _launcher.tally, Tally()
    return tally


@contextlib.contextmanager
def _building(batch: Batch) -> Iterator[None]:
    """Values are those of a batch."""
    builder = BatchBuilder(interpreter.interpreter_builder, batch)
    with (
        batches.running(batch),
        # What goes by the batch fails: it would compute the last program alone.
        mock.patch.object(interpreter.interpreter_builder, "grid_idx", None, create=True),
        mock.patch.object(interpreter.interpreter_semantic, "builder", builder),
        mock.patch.object(TensorDescHandle, "materialize_pointers", block_pointers_of),
    ):
        yield


def _regions(given: Sequence[Any]) -> list[tuple[int, int, int]]:
    """(address, bytes, bytes of an element) of each tensor among a launch's arguments."""
    return [
        (one.untyped_storage().data_ptr(), one.untyped_storage().nbytes(), one.element_size())
        for one in tensors_in(given)
    ]


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of arguments, also of a tuple, of a descriptor and of a wrapper."""
    if isinstance(value, tuple | list):
        for one in value:
            yield from tensors_in(one)
        return
    base = value if isinstance(value, torch.Tensor) else getattr(value, "base", None)
    if isinstance(base, torch.Tensor):
        yield base
