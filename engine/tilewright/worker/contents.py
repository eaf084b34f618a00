"""What interpreted kernels find in memory that nothing has written yet, and do to their inputs.

What the host code allocates is full of poison (``poison``) until a launch or an operator writes it.
A kernel that loads such an element, which is written later in the same call, makes something of
what was there before: on a device that is what an earlier call left. An element that stays
unwritten is padding, loaded without a mask and thrown away, and no finding.

Inputs are compared after the call, so what is put back in time does not show there: stores of
launches are looked at one by one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import poison
from .bands import Banded, described

_INPUT = "input "
_LARGEST = 8  # bytes of numpy's unsigned integers


@dataclass
class _Early:
    """Elements of one tensor that were loaded while they held poison: a truth value each."""

    owner: Banded
    places: Any
    lines: set[str] = field(default_factory=set)


@dataclass
class Stored:
    """An input's memory that launches store into; ``changes`` once one left other bits there.

    ``lines`` are those of the first store of each kind.
    """

    owner: Banded
    lines: set[str]
    changes: bool = False


@dataclass(frozen=True)
class Unwritten:
    """A tensor that was loaded from before it was written; ``name`` if it came back."""

    name: str | None
    text: str
    elements: int
    lines: tuple[str, ...]


class Contents:
    """Keeps what the loads and stores of one call find.

    Args:
        line: where the user's code is now, ``file:line``.
    """

    def __init__(self, line: Callable[[], str]) -> None:
        self._line = line
        self._early: dict[int, _Early] = {}
        self._told: list[Unwritten] = []
        self._stored: dict[int, Stored] = {}
        self._pending: list[tuple[Stored, Any, Any]] = []

    def read(self, owner: Banded, elements: Any) -> None:
        """A kernel loads elements of what host code allocated, which no launch has stored."""
        poisoned = _poison(owner)
        if poisoned is None or not elements.size:
            return
        bits = _bits(owner)
        early = elements[bits[elements] == poisoned]
        if not early.size:
            return
        if id(owner) not in self._early:
            self._early[id(owner)] = _Early(owner, np.zeros(bits.shape, dtype=np.bool_))
        found = self._early[id(owner)]
        found.places[early] = True
        found.lines.add(self._line())

    def before(self, owner: Banded, elements: Any) -> None:
        """A launch is about to store into elements; ``after`` says that it has."""
        if owner.name is None or not owner.name.startswith(_INPUT):
            return
        if id(owner) not in self._stored:
            self._stored[id(owner)] = Stored(owner, {self._line()})
        stored = self._stored[id(owner)]
        if not stored.changes:
            self._pending.append((stored, elements, _bits(owner)[elements]))

    def after(self) -> None:
        """What was about to be stored has been."""
        for stored, elements, bits in self._pending:
            if (_bits(stored.owner)[elements] != bits).any():
                stored.changes = True
                stored.lines = {self._line()}
        self._pending.clear()

    def forget(self, kept: list[Banded]) -> None:
        """Conclude on tensors that are no longer there."""
        there = {id(one) for one in kept}
        for key in [key for key in self._early if key not in there]:
            self._conclude(self._early.pop(key))

    def unwritten(self) -> list[Unwritten]:
        """What was loaded first and written afterwards; ends the bookkeeping of loads."""
        self.forget([])
        return list(dict.fromkeys(self._told))

    def stored(self) -> list[Stored]:
        """The inputs that launches stored into."""
        return list(self._stored.values())

    def _conclude(self, early: _Early) -> None:
        owner = early.owner
        count = int(np.count_nonzero(_bits(owner)[early.places] != _poison(owner)))
        if count:
            lines = tuple(sorted(early.lines))
            self._told.append(Unwritten(owner.name, described(owner), count, lines))


def _poison(owner: Banded) -> int | None:
    """The bits that tell an unwritten element; None where nothing tells one."""
    known = poison.is_telling(owner.dtype) or owner.is_unwritten
    return poison.bits(owner.dtype) if known else None


def _bits(owner: Banded) -> Any:
    """A tensor's memory between its bands: an unsigned integer an element, or a row of bytes.

    Shows the memory without holding it: who counts the holders of a storage must not see this one.
    """
    size = owner.dtype.itemsize
    place = owner.storage.data_ptr() + owner.first
    memory: Any = (ctypes.c_char * (owner.end - owner.first)).from_address(place)
    if size > _LARGEST:
        return np.frombuffer(memory, np.uint8).reshape(-1, size)
    return np.frombuffer(memory, np.dtype(f"u{size}"))
