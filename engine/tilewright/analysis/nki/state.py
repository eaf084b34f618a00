"""What the interpreter carries along: names, facts, loops, and the operations seen so far."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from tilewright.analysis.nki.affine import Affine, Symbol, SymbolKind
from tilewright.analysis.nki.indexing import Array, Stretch
from tilewright.analysis.nki.model import (
    Comparison,
    Loop,
    Mask,
    Memory,
    Operation,
    Origin,
    Shape,
    Storage,
    View,
)
from tilewright.source.model import NkiFlavour
from tilewright.source.names import Names


@dataclass(frozen=True)
class Literal:
    """A constant that is no integer: text, a float, a truth value, None."""

    value: str | float | bool | None


@dataclass(frozen=True)
class Named:
    """A dotted name: a function given as an operand, a dtype, a buffer, an engine."""

    dotted: str


@dataclass(frozen=True)
class DtypeOf:
    """``x.dtype`` where the type is not known."""

    storage: Storage


@dataclass(frozen=True)
class Items:
    """A tuple or list whose elements are known."""

    values: tuple["Value", ...]


@dataclass(frozen=True)
class ShapeOf:
    """``x.shape`` of a tensor whose rank is not known."""

    name: str


@dataclass(frozen=True)
class Grid:
    """``nl.mgrid[...]``: one index array for each axis."""

    arrays: tuple[Array, ...]


@dataclass(frozen=True)
class Many:
    """A list that tiles, or lists of them, are appended to; ``sample`` stands for any of them."""

    sample: "View | Many | None"


@dataclass(frozen=True)
class Partition:
    """``nl.par_dim(n)`` in a shape."""

    size: Affine


@dataclass(frozen=True)
class Unknown:
    """Nothing is known of it."""


UNKNOWN = Unknown()
Value = (
    Affine
    | Array
    | Stretch
    | Mask
    | Comparison
    | View
    | Literal
    | Named
    | DtypeOf
    | Items
    | ShapeOf
    | Grid
    | Many
    | Partition
    | Unknown
)


@dataclass
class State:
    """Mutable while one kernel is interpreted; nothing of it leaves but in a ``Flow``."""

    names: Names
    flavour: NkiFlavour | None
    constants: Mapping[str, ast.expr]
    env: dict[str, Value] = field(default_factory=dict)
    known: dict[Symbol, Affine] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    all_loops: list[Loop] = field(default_factory=list)
    returned: list[Storage] = field(default_factory=list)
    program: dict[int, Symbol] = field(default_factory=dict)
    by_node: dict[int, Operation] = field(default_factory=dict)
    masks: dict[int, Mask | None] = field(default_factory=dict)
    loops: tuple[Loop, ...] = ()
    branches: tuple[int, ...] = ()
    statement: ast.stmt | None = None
    order: int = 0
    complete: bool = True
    constant_depth: int = 0

    def tick(self) -> int:
        """The next order number."""
        self.order += 1
        return self.order

    def number(self, value: Affine | None) -> int | None:
        """The number an integer is, as far as is known here."""
        return None if value is None else value.substitute(self.known).number

    def unify(self, left: Affine, right: Affine) -> None:
        """Take two integers for equal, as an assert says."""
        left, right = left.substitute(self.known), right.substitute(self.known)
        for one, two in ((left, right), (right, left)):
            symbol = one.symbol
            if symbol is None or symbol.kind is not SymbolKind.SIZE or symbol in two.symbols:
                continue
            fact = {symbol: two}
            self.known = {s: v.substitute(fact) for s, v in self.known.items()} | fact
            return

    def storage(
        self,
        name: str,
        shape: Shape | None,
        memory: Memory | None,
        *,
        dtype: str | None = None,
        partition: int = 0,
        origin: Origin = Origin.RESULT,
        zeroed: bool = False,
        shared: bool = False,
        node: ast.AST | None = None,
    ) -> Storage:
        """A new tensor of its own, created here."""
        made = Storage(
            name,
            shape,
            partition,
            dtype,
            memory,
            origin,
            zeroed,
            shared,
            self.loops,
            self.branches,
            self.tick(),
            node,
        )
        self.storages.append(made)
        return made


def whole(storage: Storage, node: ast.AST | None = None) -> View:
    """All of a tensor."""
    return View(storage, (), storage.shape, storage.dtype, storage.partition, node=node)
