"""What interpreted kernels find in memory that nothing has written yet, and do to their inputs.

What the host code allocates is full of poison (``poison``) until a launch or an operator writes it.
A kernel that loads such an element, which is written later in the same call, makes something of
what was there before: on a device that is what an earlier call left. An element that stays
unwritten is padding, loaded without a mask and thrown away, and no finding. Where one launch is
all that is called, its results come in as inputs, and the same applies to those.

Inputs are compared after the call, so what is put back in time does not show there: stores of
launches are looked at one by one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import poison
from .redzones import Banded, described

_GIVEN = ("input ", "weight ")
_LARGEST = 8  # bytes of numpy's unsigned integers


@dataclass
class _Early:
    """Elements of one tensor that were loaded while they held poison: a truth value each."""

    owner: Banded
    places: Any
    lines: set[str] = field(default_factory=set)


@dataclass
class Reached:
    """An input's memory that launches load from, or store into; ``lines`` of the first that did.

    ``changes`` once a store has left other bits there; the line is that one's then.
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
        self._stored: dict[int, Reached] = {}
        self._loaded: dict[int, Reached] = {}
        self._pending: list[tuple[Reached, Any, Any]] = []

    def snapshot(self) -> Callable[[], None]:
        """A function that forgets the loads and stores from here on; for use once."""
        early = {
            key: replace(one, places=one.places.copy(), lines=set(one.lines))
            for key, one in self._early.items()
        }
        stored, loaded = (
            {key: replace(one, lines=set(one.lines)) for key, one in reached.items()}
            for reached in (self._stored, self._loaded)
        )
        told = list(self._told)

        def restore() -> None:
            self._early, self._stored, self._loaded, self._told = early, stored, loaded, told
            self._pending.clear()

        return restore

    def wants(self, owner: Banded) -> bool:
        """Whether loads from a tensor can still tell anything; ``read`` is for those."""
        return owner.name is None or (_is_given(owner) and id(owner) not in self._loaded)

    def read(self, owner: Banded, elements: Any) -> None:
        """A kernel loads elements that no launch has stored in this call."""
        if not elements.size:
            return
        if owner.name is None:
            self._look(owner, elements)
        elif _is_given(owner):
            self._loaded[id(owner)] = Reached(owner, {self._line()})

    def _look(self, owner: Banded, elements: Any) -> None:
        """Whether what host code allocated still holds poison there."""
        poisoned = _poison(owner)
        if poisoned is None:
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

    def begin_store(self, owner: Banded, elements: Any) -> None:
        """A launch is about to store into elements; ``end_store`` says that it has."""
        if not _is_given(owner):
            return
        if id(owner) not in self._stored:
            self._stored[id(owner)] = Reached(owner, {self._line()})
        stored = self._stored[id(owner)]
        if not stored.changes:
            self._pending.append((stored, elements, _bits(owner)[elements]))

    def end_store(self) -> None:
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

    def stored(self) -> list[Reached]:
        """The inputs that launches stored into."""
        return list(self._stored.values())

    def loaded(self) -> list[Reached]:
        """The inputs that launches loaded from before they had stored into them."""
        return list(self._loaded.values())

    def _conclude(self, early: _Early) -> None:
        owner = early.owner
        count = int(np.count_nonzero(_bits(owner)[early.places] != _poison(owner)))
        if count:
            lines = tuple(sorted(early.lines))
            self._told.append(Unwritten(owner.name, described(owner), count, lines))


def _is_given(owner: Banded) -> bool:
    return owner.name is not None and owner.name.startswith(_GIVEN)


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
