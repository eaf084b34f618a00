"""What a launch asks of a chip, and what time that takes by estimate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Bound(StrEnum):
    """What most of the estimated time is spent on."""

    MEMORY = "memory"
    L2 = "L2"
    NEAR = "L1"
    SHARED = "shared memory"
    TENSOR = "tensor"
    ISSUE = "issue"
    LATENCY = "latency"
    DISPATCH = "dispatch"
    """Starting so many programs."""


@dataclass(frozen=True)
class Step:
    """How a loop moves a tile.

    Attributes:
        places: that it moves it to.
        shift: elements from one to the next; None where they are not as far from each other.
        longest: places of the program that has the most, over the mean.
    """

    places: float
    shift: int | None
    longest: float = 1.0


@dataclass(frozen=True)
class Touch:
    """One load, store or atomic of the source, as a program does it.

    Attributes:
        kind: "load", "store" or "atomic".
        line: 1-based in the file.
        base: the pointer parameter it goes through; None if that is not known.
        item: bytes of an element.
        extents: of its tile.
        strides: elements between neighbours along each axis; None where an index was loaded.
        turns: how often a program does it.
        moves: how often it is at another place; the rest touch the same again.
        inside: the part of its elements that its mask lets through.
        kept: the part of each axis; empty where all of it.
        shift: elements from one turn's tile to the next; None where that is not known.
        steps: of each loop that moves it, outermost first.
        depth: loads, one after another, that its address waits for.
        loops: numbers of the loops around it.
        by_descriptor: one instruction moves the tile for all threads.
        spread: how many different tiles programs have between them.
        last: the last line of the call.
        at: elements from the base to its first program's first tile; None where not known.
        picked: where its tiles are by indices that were loaded; None where they are not.
        aside: elements from a program's first tile to that of the next along each axis of the
            grid; None where not known.
    """

    kind: str
    line: int
    base: str | None
    item: int
    extents: tuple[int, ...]
    strides: tuple[int | None, ...]
    turns: float = 1.0
    moves: float = 1.0
    inside: float = 1.0
    kept: tuple[float, ...] = ()
    shift: int | None = None
    steps: tuple[Step, ...] = ()
    depth: int = 0
    loops: tuple[int, ...] = ()
    by_descriptor: bool = False
    spread: Spread | None = None
    last: int = 0
    at: int | None = None
    picked: Picked | None = None
    aside: tuple[int | None, ...] = (None, None, None)

    def covers(self, line: int) -> bool:
        """Whether a line is one of the call's."""
        return self.line <= line <= max(self.line, self.last)

    @property
    def elements(self) -> int:
        total = 1
        for extent in self.extents:
            total *= extent
        return total


@dataclass(frozen=True)
class Spread:
    """How many different tiles the first programs touch.

    Attributes:
        counted: (programs, different tiles among the first that many), growing.
    """

    counted: tuple[tuple[int, int], ...]

    def distinct(self, programs: float) -> float:
        """Different tiles among so many programs; between and beyond the counts, in proportion."""
        last_n, last_d = 0, 0
        for n, d in self.counted:
            if programs <= n:
                return last_d + (d - last_d) * (programs - last_n) / max(1, n - last_n)
            last_n, last_d = n, d
        return last_d * programs / max(1, last_n)


@dataclass(frozen=True)
class Picked:
    """Rows picked by loaded indices, of which nothing is known: any is as likely as any other.

    Attributes:
        rows: there are.
        spread: of what else tells programs' tiles apart.
    """

    rows: float
    spread: Spread

    def distinct(self, programs: float, each: float) -> float:
        """Different ones among all that so many programs pick, ``each`` so many, as expected."""
        beside = self.spread.distinct(programs)
        picks = programs / beside * each
        return beside * self.rows * -math.expm1(-picks / self.rows)


@dataclass(frozen=True)
class Dot:
    """A matrix product of tiles: ``m x k`` times ``k x n``, ``turns`` times a program.

    ``made`` where threads compute a factor in the turn that multiplies it.
    """

    line: int
    m: int
    n: int
    k: int
    dtype: str
    turns: float = 1.0
    loops: tuple[int, ...] = ()
    made: bool = False


@dataclass(frozen=True)
class Turns:
    """A loop of the source: its lines, its turns each time it is entered, and in all.

    ``known`` is False where its bounds do not follow from the launch; one turn is assumed.
    ``is_static`` loops are written out turn by turn in the code. ``carried`` are elements of the
    tiles that a turn hands to the next. ``longest`` is ``each`` of the program with the most turns,
    over the mean.
    """

    first: int
    last: int
    each: float
    total: float
    known: bool = True
    is_static: bool = False
    carried: int = 0
    longest: float = 1.0


@dataclass(frozen=True)
class Workload:
    """What one launch does, by its source."""

    programs: int
    touches: tuple[Touch, ...]
    dots: tuple[Dot, ...]
    loops: Mapping[int, Turns]
    notes: tuple[str, ...] = ()
    grid: tuple[int, ...] = (1, 1, 1)


@dataclass(frozen=True)
class Estimate:
    """The estimated time of a launch on a chip that is not asked.

    Attributes:
        us: microseconds from the launch's begin to its end.
        bound: what takes most of it.
        roofline_percent: the time that bytes and operations take at the chip's peak rates, over
            the estimated time.
        parts: microseconds by cause, each as if it were alone.
        notes: what was assumed.
        flop: of tensor instructions; 0 where there are none, as others are not counted.
        bytes: that the launch touches, each once.
        rate: the name of the chip's peak that most of ``flop`` is bound by; empty without any.
    """

    us: float
    bound: Bound
    roofline_percent: float
    parts: Mapping[str, float]
    notes: tuple[str, ...] = field(default=())
    flop: float = 0.0
    bytes: float = 0.0
    rate: str = ""
