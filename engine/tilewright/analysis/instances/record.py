"""What the programs of a launch read and write, element by element."""

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product as all_of
from typing import Any

from tilewright.analysis.instances.model import Storage

Program = tuple[int, ...]
_MOST = 12_000
_MOST_PROGRAMS = 48
_FEW = (0, 1, 2)


def programs_of(grid: Sequence[int]) -> tuple[list[Program], bool]:
    """The programs to run, x fastest, and whether these are all of the grid's."""
    axes: list[Sequence[int]] = [range(extent) for extent in grid]
    is_all = math.prod(map(len, axes)) <= _MOST_PROGRAMS
    if not is_all:
        axes = [sorted(at for at in {*_FEW, len(axis) - 1} if at in axis) for axis in axes]
    return [(x, y, z) for z, y, x in all_of(*reversed(axes))], is_all


@dataclass(frozen=True)
class Touched:
    """One access of one program: ``where`` are elements of the storage, in the lanes' order.

    ``active`` says of each lane whether it is accessed, None where that is not known.
    ``is_sure`` is False where it is not known whether the access runs at all.
    """

    node: ast.Call
    kind: str
    storage: Storage
    program: Program
    where: list[int] | None
    active: list[Any]
    is_sure: bool
    value: int = 0
    is_one_value: bool = False


@dataclass(frozen=True)
class Outside:
    """An access that leaves its storage."""

    node: ast.Call
    kind: str
    storage: Storage
    program: Program
    element: int


@dataclass(frozen=True)
class Shared:
    """An element that two programs access, one of them to write; or two lanes of one program."""

    node: ast.Call
    other: ast.Call
    storage: Storage
    programs: tuple[Program, Program]
    element: int
    is_read: bool = False

    @property
    def where(self) -> tuple[tuple[Program, Program], int, bool]:
        """What is no node and no storage."""
        return self.programs, self.element, self.is_read


@dataclass
class Written:
    """The elements of one storage that are stored, whether these are all, and by what."""

    elements: set[int] = field(default_factory=set)
    is_known: bool = True
    nodes: dict[ast.Call, None] = field(default_factory=dict)


class Record:
    """The accesses of one launch, or of several after another, and the first of each kind of
    fault."""

    def __init__(self) -> None:
        self.outside: dict[ast.Call, Outside] = {}
        self.shared: dict[tuple[ast.Call, ast.Call], Shared] = {}
        self.written: dict[Storage, Written] = {}
        self.is_complete = True
        self.is_ordered = False
        self.count = 0
        self._read: dict[Storage, dict[int, tuple[Program, ast.Call]]] = {}
        self._last: dict[Storage, dict[int, tuple[Program, ast.Call, int]]] = {}

    @property
    def is_full(self) -> bool:
        """Whether too much was collected to go on."""
        return self.count > _MOST

    def take(self, launch: "Record") -> None:
        """Add a launch that runs after all that is here."""
        for node, outside in launch.outside.items():
            self.outside.setdefault(node, outside)
        for nodes, shared in launch.shared.items():
            self.shared.setdefault(nodes, shared)
        for storage, written in launch.written.items():
            own = self.written.setdefault(storage, Written())
            own.elements |= written.elements
            own.is_known = own.is_known and written.is_known
            own.nodes.update(written.nodes)
        self.is_complete = self.is_complete and launch.is_complete
        self.is_ordered = self.is_ordered or launch.is_ordered
        self.count += launch.count

    def close(self) -> None:
        """The launch is over: look for elements that one program reads and another writes."""
        for storage, read in self._read.items():
            written = self._last.get(storage, {})
            for element, (program, node) in read.items() if written else ():
                found = written.get(element)
                if found is not None and found[0] != program:
                    key = node, found[1]
                    self.shared.setdefault(
                        key, Shared(node, found[1], storage, (program, found[0]), element, True)
                    )
        self._read, self._last = {}, {}

    def add(self, touched: Touched) -> None:
        """One access of one program."""
        self.count += len(touched.active)
        if touched.kind == "atomic":
            self.is_ordered = True
        if touched.kind != "load":
            written = self.written.setdefault(touched.storage, Written())
            written.nodes[touched.node] = None
            written.is_known = written.is_known and touched.where is not None
        if touched.where is None:
            return
        self._look_outside(touched)
        if touched.kind == "load":
            self._loaded(touched)
        else:
            self._stored(touched)

    def _look_outside(self, touched: Touched) -> None:
        size = touched.storage.size
        if size is None or not touched.is_sure or touched.node in self.outside:
            return
        for element, is_active in zip(touched.where or (), touched.active, strict=True):
            if is_active is True and not 0 <= element < size:
                self.outside[touched.node] = Outside(
                    touched.node, touched.kind, touched.storage, touched.program, element
                )
                return

    def _loaded(self, touched: Touched) -> None:
        if not touched.is_sure:
            return
        read = self._read.setdefault(touched.storage, {})
        written = self._last.get(touched.storage, {})
        for element, is_active in zip(touched.where or (), touched.active, strict=True):
            before = written.get(element)
            # What a program reads back is its own, unless another program stores another value
            # there, which is a fault of the two stores.
            if is_active is True and (before is None or before[0] != touched.program):
                read.setdefault(element, (touched.program, touched.node))

    def _stored(self, touched: Touched) -> None:
        all_written = self.written[touched.storage].elements
        here = self._last.setdefault(touched.storage, {})
        seen: set[int] = set()
        is_plain = touched.kind == "store" and touched.is_sure
        for element, is_active in zip(touched.where or (), touched.active, strict=True):
            if is_active is False:
                continue
            all_written.add(element)
            if not is_plain or is_active is not True:
                continue
            before = here.get(element)
            if before is not None:
                self._twice(touched, before, element, element in seen)
            here[element] = (touched.program, touched.node, touched.value)
            seen.add(element)

    def _twice(
        self, touched: Touched, before: tuple[Program, ast.Call, int], element: int, is_lane: bool
    ) -> None:
        is_other = before[0] != touched.program and before[2] != touched.value
        if is_other or (is_lane and not touched.is_one_value):
            key = touched.node, before[1]
            programs = touched.program, before[0]
            self.shared.setdefault(
                key, Shared(touched.node, before[1], touched.storage, programs, element)
            )
