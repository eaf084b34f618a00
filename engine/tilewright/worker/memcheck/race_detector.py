"""What programs of one interpreted launch do to each other's memory, although nothing orders them.

The interpreter runs programs one after another, so that no race ever shows in a result. Here every
element of the tensors between bands remembers who touched it last: a plain store over another
program's different value, a plain load of what another program stored, and a plain store beside
another program's atomic operation are findings. Equal values are not, nor are atomics among
themselves, nor what atomic operations on a common tensor put in order (release, then acquire).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .redzones import Banded, Fault, described

STORES = "two programs store different values to the same elements of"
LOADS = "a program loads what another program stores in the same launch, in"
MIXES = "a program stores to what another program updates atomically in the same launch, in"
_NOBODY = -1


@dataclass
class _Memory:
    """Who touched each element of one tensor last: numbers of accesses."""

    owner: Banded
    last: Any
    atomics: dict[int, int] = field(default_factory=dict)
    """When each program did its last atomic operation that others can wait for."""


class Traffic:
    """Keeps the accesses of the launch that runs.

    Args:
        line: where the user's code is now, ``file:line``.
    """

    def __init__(self, line: Callable[[], str]) -> None:
        self._line = line
        self._memories: dict[int, _Memory] = {}
        self._programs = np.zeros(1 << 10, dtype=np.int64)
        self._is_atomic = np.zeros(1 << 10, dtype=np.bool_)
        self._lines: list[str] = []
        self._first = 0
        self._program = 0
        self._found: dict[tuple[str, int], tuple[Banded, set[str]]] = {}

    def begin(self) -> None:
        """A launch begins: what came before it is ordered."""
        self._first = len(self._lines)
        for memory in self._memories.values():
            memory.atomics.clear()

    def enter(self, program: int) -> None:
        """From here on it is this program that runs."""
        self._program = program

    def snapshot(self) -> Callable[[], None]:
        """A function that forgets the accesses from here on."""
        memories = {
            key: _Memory(one.owner, one.last.copy(), dict(one.atomics))
            for key, one in self._memories.items()
        }
        lines, first, program = len(self._lines), self._first, self._program
        found = {key: (owner, set(at)) for key, (owner, at) in self._found.items()}

        def restore() -> None:
            # A snapshot is restored once, so that it may give away what it has.
            self._memories, self._found = memories, found
            del self._lines[lines:]
            self._first, self._program = first, program

        return restore

    def forget(self, kept: list[Banded]) -> None:
        """Let go of tensors that are no longer there."""
        there = {id(one) for one in kept}
        self._memories = {key: one for key, one in self._memories.items() if key in there}

    def unstored(self, owner: Banded, elements: Any) -> Any:
        """Those of the elements that no launch has stored since they were allocated."""
        memory = self._memories.get(id(owner))
        return elements if memory is None else elements[memory.last[elements] == _NOBODY]

    def load(self, owner: Banded, elements: Any) -> None:
        """The running program loads elements, by number from the start of their tensor."""
        memory = self._memories.get(id(owner))
        if memory is None:
            return
        last, foreign = self._foreign(memory, elements)
        foreign[foreign] = ~self._is_atomic[last[foreign]]
        self._tell(LOADS, memory, last[foreign])

    def store(self, owner: Banded, elements: Any, differ: Callable[[Any], Any]) -> None:
        """It stores; ``differ`` says which of some elements have another value in memory now."""
        memory = self._memory(owner)
        last, foreign = self._foreign(memory, elements)
        if foreign.any():
            mixed = foreign.copy()
            mixed[foreign] = self._is_atomic[last[foreign]]
            self._tell(MIXES, memory, last[mixed])
            plain = foreign & ~mixed
            if plain.any() and (STORES, id(owner)) not in self._found:
                plain[plain] = differ(plain)
                self._tell(STORES, memory, last[plain])
        memory.last[elements] = self._access(is_atomic=False)

    def update(self, owner: Banded, elements: Any, *, is_ordering: bool) -> None:
        """It does an atomic operation; ``is_ordering`` unless that is relaxed."""
        memory = self._memory(owner)
        if is_ordering:
            memory.atomics[self._program] = len(self._lines)
        last, foreign = self._foreign(memory, elements)
        foreign[foreign] = ~self._is_atomic[last[foreign]]
        self._tell(MIXES, memory, last[foreign])
        memory.last[elements] = self._access(is_atomic=True)

    def faults(self) -> list[Fault]:
        """What was found, a sentence each and its lines; ends the bookkeeping."""
        found = [
            Fault(f"{what} {described(owner)}", tuple(sorted(lines)))
            for (what, _), (owner, lines) in self._found.items()
        ]
        self._found.clear()
        return list(dict.fromkeys(found))

    def _memory(self, owner: Banded) -> _Memory:
        if id(owner) not in self._memories:
            size = (owner.end - owner.first) // owner.dtype.itemsize
            last = np.full(size, _NOBODY, dtype=np.int64)
            self._memories[id(owner)] = _Memory(owner, last)
        return self._memories[id(owner)]

    def _access(self, *, is_atomic: bool) -> int:
        number = len(self._lines)
        if number == len(self._programs):
            self._programs = np.concatenate([self._programs, np.zeros_like(self._programs)])
            self._is_atomic = np.concatenate([self._is_atomic, np.zeros_like(self._is_atomic)])
        self._programs[number] = self._program
        self._is_atomic[number] = is_atomic
        self._lines.append(self._line())
        return number

    def _foreign(self, memory: _Memory, elements: Any) -> tuple[Any, Any]:
        """(last access to each element, whether another program of this launch made it)."""
        last = memory.last[elements]
        foreign = last >= self._first
        foreign[foreign] = self._programs[last[foreign]] != self._program
        return last, foreign

    def _tell(self, what: str, memory: _Memory, accesses: Any) -> None:
        key = (what, id(memory.owner))
        if not accesses.size or key in self._found:
            return
        racing = next((int(one) for one in np.unique(accesses) if not self._ordered(int(one))), -1)
        if racing >= 0:
            self._found[key] = (memory.owner, {self._lines[racing], self._line()})

    def _ordered(self, access: int) -> bool:
        """Whether atomic operations on a common tensor come between an access and now.

        Chains over several programs and tensors are followed without regard to their times: too
        much counts as ordered rather than too little.
        """
        memories = list(self._memories.values())
        maker = int(self._programs[access])
        open_ones = [one for one in memories if one.atomics.get(maker, -1) >= access]
        reached: list[_Memory] = []
        while open_ones:
            memory = open_ones.pop()
            if self._program in memory.atomics:
                return True
            reached.append(memory)
            for program in memory.atomics:
                open_ones += [
                    one
                    for one in memories
                    if program in one.atomics and all(one is not known for known in reached)
                    and all(one is not known for known in open_ones)
                ]  # fmt: skip
        return False
