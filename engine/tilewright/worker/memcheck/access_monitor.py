"""Check every access of an interpreted kernel against the redzones of the tensors."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import triton
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder

from .race_detector import Traffic
from .redzones import AFTER, BEFORE, READS, WRITES, Banded, Bands
from .uninitialized import Contents

_NOT_USERS = (os.path.dirname(triton.__file__), str(Path(__file__).parents[1]))  # noqa: PTH120


class Watch:
    """Stands where the interpreter expects the functions that touch memory."""

    def __init__(self, memory: Any, bands: Bands) -> None:
        self._memory = memory
        self._bands = bands
        self._made = -1
        self._begins = self._firsts = self._ends = self._limits = np.zeros(0, dtype=np.uint64)
        self.traffic = Traffic(users_line)
        self.contents = Contents(users_line)
        bands.races = self.traffic.faults

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def snapshot(self) -> Callable[[], None]:
        """A function that forgets all that is seen from here on."""
        if self._made != self._bands.made:
            self._map()
        kept = [self.traffic.snapshot(), self.contents.snapshot(), self._bands.snapshot()]

        def restore() -> None:
            for one in kept:
                one()

        return restore

    def load(self, pointers: Any, mask: Any, *rest: Any) -> Any:
        """A load; what it reads outside of a tensor, of another program's, or before anything has
        written it, is noted."""
        for owner, elements, _ in self._tensors_hit(READS, pointers, mask):
            self._find(owner, elements)
            self.traffic.load(owner, elements)
        return self._memory.load(pointers, mask, *rest)

    def store(self, pointers: Any, values: Any, mask: Any) -> Any:
        """A store; what it writes outside of a tensor, or over another program's, is noted."""
        for owner, elements, which in self._tensors_hit(WRITES, pointers, mask):
            self.traffic.store(owner, elements, self._difference(pointers, values, mask, which))
            self.contents.begin_store(owner, elements)
        done = self._memory.store(pointers, values, mask)
        self.contents.end_store()
        return done

    def atomic_rmw(self, operation: Any, pointers: Any, values: Any, mask: Any, sem: Any) -> Any:
        """An atomic operation counts as a write, and but for an exchange as a read."""
        self._update(pointers, mask, sem, finds=operation != self._memory.RMW_OP.XCHG)
        old = self._memory.atomic_rmw(operation, pointers, values, mask, sem)
        self.contents.end_store()
        return old

    def atomic_cas(self, pointers: Any, compare: Any, values: Any, sem: Any) -> Any:
        """Compare and swap counts as a write and as a read."""
        self._update(pointers, np.ones_like(pointers, dtype=np.bool_), sem, finds=True)
        old = self._memory.atomic_cas(pointers, compare, values, sem)
        self.contents.end_store()
        return old

    def _update(self, pointers: Any, mask: Any, sem: Any, *, finds: bool) -> None:
        ordering = sem != self._memory.MEM_SEMANTIC.RELAXED
        for owner, elements, _ in self._tensors_hit(WRITES, pointers, mask):
            if finds:
                self._find(owner, elements)
            self.traffic.update(owner, elements, is_ordering=ordering)
            self.contents.begin_store(owner, elements)

    def _find(self, owner: Banded, elements: Any) -> None:
        """A load, or what amounts to one, of elements that no launch may have stored."""
        if self.contents.wants(owner):
            self.contents.read(owner, self.traffic.unstored(owner, elements))

    def _difference(self, pointers: Any, values: Any, mask: Any, which: Any) -> Any:
        """A function that says which of some accesses find other bits than they store."""

        def differ(chosen: Any) -> Any:
            active = np.broadcast_to(mask, pointers.shape).astype(np.bool_)
            places = np.ascontiguousarray(pointers[active][which][chosen])
            new = np.ascontiguousarray(
                np.broadcast_to(values, pointers.shape)[active][which][chosen]
            )
            there = np.ones(places.shape, dtype=np.bool_)
            old = self._memory.load(places, there, np.zeros_like(new), new.dtype)
            width = (len(new), new.dtype.itemsize)
            return (old.view(np.uint8).reshape(width) != new.view(np.uint8).reshape(width)).any(1)

        return differ

    def _tensors_hit(
        self, verb: str, pointers: Any, mask: Any
    ) -> Iterator[tuple[Banded, Any, Any]]:
        """(tensor, elements of it, which of the active accesses) for what lies inside of one;
        the rest is noted."""
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
        inside = known & ~before & ~after
        for number in _numbers(at[inside]):
            owner, which = self._order[number], inside & (at == number)
            elements = (active[which] - self._firsts[number]).astype(np.int64)
            yield owner, elements // owner.dtype.itemsize, which

    def _map(self) -> None:
        """Where the bands are now."""
        self._made = self._bands.made
        self.traffic.forget(self._bands.kept)
        self.contents.forget(self._bands.kept)
        self._order = sorted(self._bands.kept, key=lambda one: one.storage.data_ptr())
        rows = [(one.storage.data_ptr(), one) for one in self._order]
        self._begins = np.array([begin for begin, _ in rows], dtype=np.uint64)
        self._firsts = np.array([begin + one.first for begin, one in rows], dtype=np.uint64)
        self._ends = np.array([begin + one.end for begin, one in rows], dtype=np.uint64)
        self._limits = np.array(
            [begin + one.storage.nbytes() for begin, one in rows], dtype=np.uint64
        )

    def _note(self, verb: str, side: str, pointers: Any, owners: Any) -> None:
        line = users_line()
        for owner in np.unique(owners):
            touched = self._order[owner].touch(verb, side)
            touched.places.update(pointers[owners == owner].tolist())
            touched.lines.add(line)


def users_line() -> str:
    """``file:line`` of the innermost code that is neither Triton's nor ours."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_USERS):
        frame = frame.f_back
    if frame is None:
        return "an unknown line"
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _numbers(owners: Any) -> Any:
    """Each number that occurs, once; nearly always that is one, which sorting need not find."""
    if owners.size and owners[0] == owners.max() == owners.min():
        return owners[:1]
    return np.unique(owners)


@contextlib.contextmanager
def watched(bands: Bands) -> Iterator[Contents]:
    """Note what interpreted kernels reach outside of banded tensors, what their programs do to each
    other's memory, and what they find and leave in it."""
    watch = Watch(interpreter._interpreter, bands)
    with watching(watch):
        yield watch.contents


@contextlib.contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Put a watch where the interpreter expects the functions that touch memory."""
    set_dim, set_index = InterpreterBuilder.set_grid_dim, InterpreterBuilder.set_grid_idx

    def begin(builder: Any, *grid: int) -> None:
        set_dim(builder, *grid)
        watch.traffic.begin()

    def enter(builder: Any, *index: int) -> None:
        set_index(builder, *index)
        watch.traffic.enter(int(np.ravel_multi_index(builder.grid_idx, builder.grid_dim)))

    with (
        mock.patch.object(interpreter, "_interpreter", watch),
        mock.patch.object(InterpreterBuilder, "set_grid_dim", begin),
        mock.patch.object(InterpreterBuilder, "set_grid_idx", enter),
    ):
        yield
