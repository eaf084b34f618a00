"""Accesses of interpreted kernels that lie in no tensor at all: noted, and not made.

What lies a little outside of a tensor reaches its band. What lies further away would read memory
of the process itself, or end it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np
from triton.runtime.interpreter import GridExecutor

from ..interpreter.batched_launch import tensors_in
from .access_monitor import Watch, users_line
from .redzones import READS, WRITES, Bands, Fault


class ContainedWatch(Watch):
    """A watch that leaves out what lies in no tensor."""

    def __init__(self, memory: Any, bands: Bands) -> None:
        super().__init__(memory, bands)
        self._others: list[tuple[int, int]] = []
        self._lines: dict[str, dict[str, None]] = {}

    def launched(self, arguments: Sequence[Any]) -> None:
        """Memory of a launch's arguments is known as well, in bands or not."""
        for one in tensors_in(arguments):
            begin = one.untyped_storage().data_ptr()
            self._others.append((begin, begin + one.untyped_storage().nbytes()))

    def faults(self) -> list[Fault]:
        """What lay outside, with the lines."""
        return [
            Fault(f"{verb} memory far outside of every tensor", tuple(lines))
            for verb, lines in self._lines.items()
        ]

    def load(self, pointers: Any, mask: Any, *rest: Any) -> Any:
        return super().load(pointers, self._contained_mask(READS, pointers, mask), *rest)

    def store(self, pointers: Any, values: Any, mask: Any) -> Any:
        return super().store(pointers, values, self._contained_mask(WRITES, pointers, mask))

    def atomic_rmw(self, operation: Any, pointers: Any, values: Any, mask: Any, sem: Any) -> Any:
        within = self._contained_mask(WRITES, pointers, mask)
        return super().atomic_rmw(operation, pointers, values, within, sem)

    def atomic_cas(self, pointers: Any, compare: Any, values: Any, sem: Any) -> Any:
        if not self._contained_mask(
            WRITES, pointers, np.ones(pointers.shape, dtype=np.bool_)
        ).all():
            raise IndexError("an atomic operation on memory far outside of every tensor")
        return super().atomic_cas(pointers, compare, values, sem)

    def _contained_mask(self, verb: str, pointers: Any, mask: Any) -> Any:
        active = np.broadcast_to(mask, pointers.shape).astype(np.bool_)
        outside = active & ~self._known(pointers)
        if not outside.any():
            return mask
        self._lines.setdefault(verb, {})[users_line()] = None
        return active & ~outside

    def _known(self, pointers: Any) -> Any:
        if self._made != self._bands.made:
            self._map()
        found = np.zeros(pointers.shape, dtype=np.bool_)
        if len(self._begins):
            at = np.searchsorted(self._begins, pointers, side="right") - 1
            found = (at >= 0) & (pointers < self._limits[at])
        if found.all():
            return found
        for begin, end in self._others:
            found |= (pointers >= np.uint64(begin)) & (pointers < np.uint64(end))
        return found


@contextlib.contextmanager
def contained(watch: ContainedWatch) -> Iterator[None]:
    """Let a watch know the arguments of each launch."""
    launch = GridExecutor.__call__

    def launched(executor: Any, *args: Any, **kwargs: Any) -> Any:
        watch.launched([*args, *kwargs.values()])
        return launch(executor, *args, **kwargs)

    with mock.patch.object(GridExecutor, "__call__", launched):
        yield
