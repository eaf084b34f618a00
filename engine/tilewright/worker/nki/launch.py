"""One launch as it runs: where in the loops it is, what is wrong, which instructions it ran."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from .settings import Fault, FaultKind, Flavour, KernelFault, Settings

if TYPE_CHECKING:
    from ..messages.nki import InstructionRecord, TilePart

LoopKind = Literal["affine", "sequential", "static", "program", "kernel"]
PartKey = tuple[int, str, str, int, int]
RecordKey = tuple[
    str, str, int, tuple[PartKey, ...], tuple[PartKey, ...], int, int, tuple[tuple[str, Any], ...]
]
_OWN: Final = str(Path(__file__).parent)


class Loop:
    """One run through the iterations of a loop statement, or the grid of program instances."""

    __slots__ = ("kind", "line", "name")

    def __init__(self, kind: LoopKind, line: int, name: str) -> None:
        self.kind = kind
        self.line = line
        self.name = name

    @property
    def unordered(self) -> bool:
        return self.kind in ("affine", "program")


class Turn:
    """One turn of a loop inside one turn of each loop around it.

    Attributes:
        chain: this turn and those around it, the outermost first.
    """

    __slots__ = ("chain", "depth", "loop", "touched")

    def __init__(self, loop: Loop, parent: Turn | None) -> None:
        self.loop = loop
        self.depth: int = parent.depth + 1 if parent else 0
        self.chain: tuple[Turn, ...] = ((*parent.chain, self)) if parent else (self,)
        self.touched: list[Any] = []

    def encloses(self, other: Turn) -> bool:
        """Whether ``other`` happens within this turn."""
        return other.depth >= self.depth and other.chain[self.depth] is self


def separating_loop(first: Turn, second: Turn) -> Loop | None:
    """The loop in different turns of which two places lie; None where program order parts them."""
    if first is second:
        return None
    for mine, theirs in zip(first.chain, second.chain, strict=False):
        if mine is not theirs:
            return mine.loop if mine.loop is theirs.loop else None
    return None


class Launch:
    """The state of the kernel that runs now.

    Attributes:
        turn: where in the loops it is.
        shared: outputs and other tensors that all program instances see, by order of declaration.
        freed_lines, freeable: of a loop's line, those of declarations whose tensors only it uses;
            all of those.
        clock: counts uses of memory.
        lifetimes: (first use, last use, bytes of a partition) of tiles that are gone.
        aliases: of a tile's number, the tensor that it was assigned to, which the compiler writes
            directly.
    """

    def __init__(self, settings: Settings, flavour: Flavour, grid: tuple[int, ...]) -> None:
        self.settings = settings
        self.flavour = flavour
        self.grid = grid
        self.program: tuple[int, ...] = (0,) * len(grid)
        self.turn = Turn(Loop("kernel", 0, "the kernel"), None)
        self.shared: list[Any] = []
        self.shared_place = 0
        self.freed_lines: dict[int, frozenset[int]] = {}
        self.freeable: frozenset[int] = frozenset()
        self.clock = 0
        self.lifetimes: dict[str, list[tuple[int, int, int]]] = {"SBUF": [], "PSUM": [], "HBM": []}
        self.accumulators: dict[str, Any] = {}
        self._faults: dict[tuple[str, str, int], Fault] = {}
        self._records: dict[RecordKey, int] = {}
        self._numbers: dict[Any, int] = {}
        self.aliases: dict[int, tuple[int, str, str]] = {}
        self.accumulating: set[int] = set()

    # --- what is wrong ---------------------------------------------------------------------------

    @property
    def faults(self) -> tuple[Fault, ...]:
        return tuple(self._faults.values())

    def report(
        self,
        kind: FaultKind,
        message: str,
        severity: Literal["error", "warning"] = "error",
        line: int | None = None,
        file: str | None = None,
    ) -> Fault:
        """Notes a fault of the user's innermost statement, once for each kind and line."""
        frame = user_frame()
        if file is None:
            file = frame.f_code.co_filename if frame else ""
        here = line if line is not None else frame.f_lineno if frame else 0
        return self._faults.setdefault(
            (kind, file, here), Fault(kind, severity, message, file, here)
        )

    def stop(self, kind: FaultKind, message: str) -> NoReturn:
        """Notes a fault after which the kernel cannot go on.

        Raises:
            KernelFault: always.
        """
        raise KernelFault(self.report(kind, message))

    def peak(self, memory: str) -> int:
        """The most bytes of a partition between first and last uses of tiles."""
        changes: dict[int, int] = {}
        for born, last, width in self.lifetimes[memory]:
            changes[born] = changes.get(born, 0) + width
            changes[last + 1] = changes.get(last + 1, 0) - width
        most = now = 0
        for clock in sorted(changes):
            now += changes[clock]
            most = max(most, now)
        return most

    # --- instructions ----------------------------------------------------------------------------

    def number(self, site: Any) -> int:
        """The number of a tensor that is declared at a place of the text."""
        return self._numbers.setdefault(site, len(self._numbers) + 1)

    def record(self, key: RecordKey) -> None:
        """One more instruction: (op, engine, line, reads, writes, partitions, free, more)."""
        self._records[key] = self._records.get(key, 0) + 1

    @property
    def records(self) -> tuple[InstructionRecord, ...]:
        merged: dict[RecordKey, int] = {}
        for key, count in self._records.items():
            final = self._final(key)
            merged[final] = merged.get(final, 0) + count
        return tuple(_record(key, count) for key, count in merged.items())

    def _final(self, key: RecordKey) -> RecordKey:
        """A record whose tile was assigned to a tensor writes that tensor."""
        op, engine, line, reads, writes, partitions, free, more = key
        if writes and writes[0][0] in self.accumulating:
            more = (*more, ("accumulate", True))
        read, written = self._named(reads), self._named(writes)
        return (op, engine, line, read, written, partitions, free, more)

    def _named(self, parts: tuple[PartKey, ...]) -> tuple[PartKey, ...]:
        return tuple(
            (*self.aliases[part[0]], *part[3:]) if part[0] in self.aliases else part
            for part in parts
        )


def _record(key: RecordKey, count: int) -> InstructionRecord:
    op, engine, line, reads, writes, partitions, free, more = key
    record: InstructionRecord = {
        "op": op,
        "engine": engine,
        "count": count,
        "line": line,
        "reads": [_part(part) for part in reads],
        "writes": [_part(part) for part in writes],
        "partitions": partitions,
        "free": free,
    }
    for name, value in more:
        record[name] = value  # type: ignore[literal-required]
    return record


def _part(key: PartKey) -> TilePart:
    tensor, memory, dtype, partitions, free = key
    return {
        "tensor": tensor,
        "memory": memory,
        "dtype": dtype,
        "partitions": partitions,
        "free": free,
    }


_running: list[Launch] = []


def running() -> Launch:
    """The launch of the kernel that calls.

    Raises:
        RuntimeError: no kernel runs.
    """
    if not _running:
        raise RuntimeError(
            "an NKI function was called outside a kernel (err_nki_api_outside_of_nki_kernel): "
            "decorate the function with @nki.jit"
        )
    return _running[-1]


def is_running() -> bool:
    return bool(_running)


def begin(launch: Launch) -> None:
    _running.append(launch)


def end() -> None:
    _running.pop()


def user_frame() -> FrameType | None:
    """The innermost frame that is not the simulator's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return frame


def user_line() -> int:
    """The line of the user's innermost statement, 1-based."""
    frame = user_frame()
    return frame.f_lineno if frame else 0
