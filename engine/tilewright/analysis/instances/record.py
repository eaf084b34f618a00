"""What the programs of a launch read and write, element by element."""

import ast
from dataclasses import dataclass, field
from typing import Any

from tilewright.analysis.instances.model import Storage

Program = tuple[int, ...]
_MOST = 12_000


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


@dataclass
class Written:
    """The stores to one storage: the last one of each element, and whether all are known."""

    elements: dict[int, tuple[Program, ast.Call, int]] = field(default_factory=dict)
    is_known: bool = True
    nodes: dict[ast.Call, None] = field(default_factory=dict)


class Record:
    """Collects accesses, and keeps the first of each kind of fault."""

    def __init__(self) -> None:
        self.outside: dict[ast.Call, Outside] = {}
        self.shared: dict[tuple[ast.Call, ast.Call], Shared] = {}
        self.written: dict[Storage, Written] = {}
        self.is_complete = True
        self.is_ordered = False
        self._read: dict[Storage, dict[int, tuple[Program, ast.Call]]] = {}
        self._launch: dict[Storage, Written] = {}
        self._count = 0

    @property
    def is_full(self) -> bool:
        """Whether too much was collected to go on."""
        return self._count > _MOST

    def new_launch(self) -> None:
        """What follows runs after all that was before."""
        self._end()
        self._launch, self._read = {}, {}

    def _end(self) -> None:
        for storage, read in self._read.items():
            written = self._launch.get(storage)
            for element, (program, node) in read.items() if written is not None else ():
                found = written.elements.get(element) if written is not None else None
                if found is not None and found[0] != program:
                    key = node, found[1]
                    self.shared.setdefault(
                        key, Shared(node, found[1], storage, (program, found[0]), element, True)
                    )

    def add(self, touched: Touched) -> None:
        """One access of one program."""
        self._count += len(touched.active)
        if touched.kind == "atomic":
            self.is_ordered = True
        if touched.kind != "load":
            for table in (self.written, self._launch):
                written = table.setdefault(touched.storage, Written())
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
        for element, is_active in zip(touched.where or (), touched.active, strict=True):
            if is_active is True:
                read.setdefault(element, (touched.program, touched.node))

    def _stored(self, touched: Touched) -> None:
        all_written = self.written[touched.storage].elements
        here = self._launch[touched.storage].elements
        seen: set[int] = set()
        is_plain = touched.kind == "store" and touched.is_sure
        for element, is_active in zip(touched.where or (), touched.active, strict=True):
            if is_active is False:
                continue
            entry = (touched.program, touched.node, touched.value)
            all_written[element] = entry
            if not is_plain or is_active is not True:
                continue
            before = here.get(element)
            if before is not None:
                self._twice(touched, before, element, element in seen)
            here[element] = entry
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

    def close(self) -> None:
        """No access follows."""
        self._end()
