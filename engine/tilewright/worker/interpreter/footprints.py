"""What the programs of one interpreted launch touch, and how to take back what they stored.

Programs that are computed together store in another order than one after another. That makes no
difference as long as no program touches what another one stores, and what several update is only
updated, by operations in any order. Who does anything else raises ``ConflictError``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_SEVERAL = -1
_MOST_PENDING = 1 << 26


class ConflictError(Exception):
    """A program touches what another one stores, or memory that no argument has."""


@dataclass
class _Region:
    """The memory of a launch's argument: bytes from ``begin`` to ``end``, in elements of
    ``1 << shift`` bytes.

    Tables have for each element 0 where no program has touched it, 1 + the program's number, or
    ``_SEVERAL``. ``pending``: loads that are in no table yet, as nothing has been stored.
    """

    begin: int
    end: int
    shift: int
    loaded: Any = None
    stored: Any = None
    updated: Any = None
    pending: list[tuple[Any, Any]] = field(default_factory=list)

    def table(self) -> Any:
        return np.zeros((self.end - self.begin >> self.shift) + 1, dtype=np.int32)

    def elements(self, pointers: Any, width: int) -> Any:
        """The elements that accesses of so many bytes touch: a row each."""
        first = (pointers - np.uint64(self.begin)).astype(np.int64) >> self.shift
        each = max(1, width >> self.shift)
        return first[:, None] + np.arange(each) if each > 1 else first[:, None]


class Footprints:
    """Keeps the accesses of one launch.

    Args:
        regions: (address, bytes, bytes of an element) of the memory of each argument.
        memory: the interpreter's functions that touch memory, unwatched.
    """

    def __init__(self, regions: Sequence[tuple[int, int, int]], memory: Any) -> None:
        self._regions = sorted(_joined(regions), key=lambda one: one.begin)
        self._begins = np.array([one.begin for one in self._regions], dtype=np.uint64)
        self._memory = memory
        self._pending = 0
        self._overwritten: list[tuple[Any, Any]] = []

    def load(self, pointers: Any, mask: Any, width: int, programs: Any) -> None:
        """``programs``: the number of each row's program; None where all load the same."""
        for region, at, owners in self._active_regions(pointers, mask, width, programs):
            _refuse_others(region.stored, at, owners)
            _refuse_others(region.updated, at, owners)
            if region.stored is None and region.updated is None:
                region.pending.append((at, owners))
                self._pending += at.nbytes
            else:
                region.loaded = _updated_table(region, region.loaded, at, owners)
        if self._pending > _MOST_PENDING:
            for region in self._regions:
                _settle(region)
            self._pending = 0

    def store(self, pointers: Any, mask: Any, width: int, programs: Any) -> None:
        """Before a store."""
        for region, at, owners in self._active_regions(pointers, mask, width, programs):
            _settle(region)
            for table in (region.stored, region.updated, region.loaded):
                _refuse_others(table, at, owners)
            if region.stored is None:
                region.stored = region.table()
            region.stored[at] = owners
            _refuse_others(region.stored, at, owners)

    def update(self, pointers: Any, mask: Any, width: int, programs: Any) -> None:
        """Before an atomic operation whose order does not matter."""
        for region, at, owners in self._active_regions(pointers, mask, width, programs):
            _settle(region)
            for table in (region.stored, region.loaded):
                _refuse_others(table, at, owners)
            region.updated = _updated_table(region, region.updated, at, owners)

    def keep(self, pointers: Any, mask: Any, dtype: Any) -> None:
        """Remember what is there before it is overwritten."""
        active = np.ascontiguousarray(pointers[mask])
        there = np.ones(active.shape, dtype=np.bool_)
        old = self._memory.load(active, there, np.zeros(active.shape, dtype), dtype)
        self._overwritten.append((active, old))

    @property
    def stores(self) -> int:
        """How many stores there have been."""
        return len(self._overwritten)

    def take_back(self, stores: int = 0) -> None:
        """Undo all but the first ``stores``."""
        while len(self._overwritten) > stores:
            pointers, old = self._overwritten.pop()
            self._memory.store(pointers, old, np.ones(pointers.shape, dtype=np.bool_))

    def _active_regions(
        self, pointers: Any, mask: Any, width: int, programs: Any
    ) -> Iterator[tuple[_Region, Any, Any]]:
        """(region, elements, their programs) of what is active."""
        owners = np.array(_SEVERAL) if programs is None else 1 + programs
        owners = owners.reshape([-1] + [1] * (pointers.ndim - 1)).astype(np.int32)
        if mask.all():
            active, owners = pointers.reshape(-1), np.broadcast_to(owners, pointers.shape)
            owners = owners.reshape(-1)
        else:
            active, owners = pointers[mask], np.broadcast_to(owners, pointers.shape)[mask]
        if not active.size:
            return
        low, high = int(active.min()), int(active.max())
        first = int(np.searchsorted(self._begins, np.uint64(low), side="right")) - 1
        if first >= 0 and high < self._regions[first].end:
            region = self._regions[first]
            yield region, region.elements(active, width), owners[:, None]
            return
        numbers = np.searchsorted(self._begins, active, side="right") - 1
        for number in np.unique(numbers):
            region, which = self._regions[max(number, 0)], numbers == number
            if number < 0 or int(active[which].max()) >= region.end:
                raise ConflictError("it reaches memory that is no argument's")
            yield region, region.elements(active[which], width), owners[which][:, None]


def _joined(regions: Sequence[tuple[int, int, int]]) -> list[_Region]:
    """One region for arguments that share memory, by the smallest of their elements."""
    found: dict[int, _Region] = {}
    for begin, size, width in regions:
        shift = max(width, 1).bit_length() - 1
        known = found.get(begin)
        if known is None:
            found[begin] = _Region(begin, begin + size, shift)
        else:
            known.end, known.shift = max(known.end, begin + size), min(known.shift, shift)
    return list(found.values())


def _refuse_others(table: Any, at: Any, owners: Any) -> None:
    if table is None:
        return
    there = table[at]
    if ((there != 0) & (there != owners)).any() or (owners.size and _shared(there, owners)):
        raise ConflictError("programs touch what others store")


def _shared(there: Any, owners: Any) -> bool:
    """Whether all of a batch at once touch what somebody has."""
    return bool((owners == _SEVERAL).any() and (there != 0).any())


def _updated_table(region: _Region, table: Any, at: Any, owners: Any) -> Any:
    """The table with these accesses, which several programs may have made."""
    table = region.table() if table is None else table
    there = table[at]
    table[at] = np.where((there == 0) | (there == owners), owners, _SEVERAL)
    several = table[at] != owners
    table[at[several]] = _SEVERAL
    return table


def _settle(region: _Region) -> None:
    """Put the loads so far into their table."""
    for at, owners in region.pending:
        region.loaded = _updated_table(region, region.loaded, at, owners)
    region.pending.clear()
