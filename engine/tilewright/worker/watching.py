"""Every access of an interpreted kernel, held against the bands around the tensors."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import triton
from triton.runtime import interpreter

from .bands import AFTER, BEFORE, READS, WRITES, Bands

_NOT_USERS = (os.path.dirname(triton.__file__), str(Path(__file__).parent))  # noqa: PTH120


class Watch:
    """Stands where the interpreter expects the functions that touch memory."""

    def __init__(self, memory: Any, bands: Bands) -> None:
        self._memory = memory
        self._bands = bands
        self._made = -1
        self._begins = self._firsts = self._ends = self._limits = np.zeros(0, dtype=np.uint64)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def load(self, pointers: Any, mask: Any, *rest: Any) -> Any:
        """A load; what it reads outside of a tensor is noted."""
        self._hold(READS, pointers, mask)
        return self._memory.load(pointers, mask, *rest)

    def store(self, pointers: Any, values: Any, mask: Any) -> Any:
        """A store; what it writes outside of a tensor is noted."""
        self._hold(WRITES, pointers, mask)
        return self._memory.store(pointers, values, mask)

    def atomic_rmw(self, operation: Any, pointers: Any, values: Any, mask: Any, *rest: Any) -> Any:
        """An atomic operation counts as a write."""
        self._hold(WRITES, pointers, mask)
        return self._memory.atomic_rmw(operation, pointers, values, mask, *rest)

    def atomic_cas(self, pointers: Any, *rest: Any) -> Any:
        """Compare and swap counts as a write."""
        self._hold(WRITES, pointers, np.ones_like(pointers, dtype=np.bool_))
        return self._memory.atomic_cas(pointers, *rest)

    def _hold(self, verb: str, pointers: Any, mask: Any) -> None:
        if self._made != self._bands.made:
            self._map()
        if not len(self._begins):
            return
        active = pointers[np.broadcast_to(mask, pointers.shape).astype(np.bool_)]
        if not active.size:
            return
        at = np.searchsorted(self._begins, active, side="right") - 1
        known = (at >= 0) & (active < self._limits[at])
        before, after = known & (active < self._firsts[at]), known & (active >= self._ends[at])
        for side, hit in ((BEFORE, before), (AFTER, after)):
            if hit.any():
                self._note(verb, side, active[hit], at[hit])

    def _map(self) -> None:
        """Where the bands are now."""
        self._made = self._bands.made
        self._order = sorted(self._bands.kept, key=lambda one: one.storage.data_ptr())
        rows = [(one.storage.data_ptr(), one) for one in self._order]
        self._begins = np.array([begin for begin, _ in rows], dtype=np.uint64)
        self._firsts = np.array([begin + one.first for begin, one in rows], dtype=np.uint64)
        self._ends = np.array([begin + one.end for begin, one in rows], dtype=np.uint64)
        self._limits = np.array(
            [begin + one.storage.nbytes() for begin, one in rows], dtype=np.uint64
        )

    def _note(self, verb: str, side: str, pointers: Any, owners: Any) -> None:
        line = _users_line()
        for owner in np.unique(owners):
            touched = self._order[owner].touch(verb, side)
            touched.places.update(pointers[owners == owner].tolist())
            touched.lines.add(line)


def _users_line() -> str:
    """``file:line`` of the innermost code that is neither Triton's nor ours."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_USERS):
        frame = frame.f_back
    if frame is None:
        return "an unknown line"
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


@contextlib.contextmanager
def watched(bands: Bands) -> Iterator[None]:
    """Note what interpreted kernels reach outside of banded tensors."""
    watch = Watch(interpreter._interpreter, bands)
    with mock.patch.object(interpreter, "_interpreter", watch):
        yield
