"""What the abstract interpretation of an NKI kernel finds."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.analysis.nki.affine import Affine, Symbol
from tilewright.source.model import NkiFlavour


class Memory(StrEnum):
    """Where a tensor lives."""

    HBM = "HBM"
    SBUF = "SBUF"
    PSUM = "PSUM"


class LoopKind(StrEnum):
    """How a loop runs: its index is a symbol in the first three, a number in the others."""

    AFFINE = "affine_range"
    SEQUENTIAL = "sequential_range"
    DYNAMIC = "dynamic_range"
    STATIC = "static_range"
    PYTHON = "range"
    OTHER = "loop"


LOOPS: Mapping[str, LoopKind] = {
    "range": LoopKind.PYTHON,
    **{f"nki.language.{k}": k for k in LoopKind if k.endswith("_range")},
}
SYMBOLIC = frozenset({LoopKind.AFFINE, LoopKind.SEQUENTIAL, LoopKind.DYNAMIC})


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop of the kernel. ``trip`` is its number of iterations, None where that is unknown."""

    kind: LoopKind
    symbol: Symbol | None
    trip: Affine | None
    node: ast.For | ast.While
    number: int


class Origin(StrEnum):
    """Where a tensor comes from."""

    PARAMETER = "parameter"
    CREATED = "created"
    RESULT = "result"
    CONSTANT = "constant"


Shape = tuple[Affine, ...]


@dataclass(frozen=True, eq=False)
class Storage:
    """Memory of its own: an argument, an allocated tensor, or what an instruction returns.

    Attributes:
        shape: all dimensions, block dimensions first; None where the rank is not known.
        partition: which dimension is the partition; those before it are block dimensions.
        zeroed: created with a value (``zeros``, ``full``), not left as it was.
        loops, branches: around the place where it is created.
    """

    name: str
    shape: Shape | None
    partition: int
    dtype: str | None
    memory: Memory | None
    origin: Origin
    zeroed: bool
    shared: bool
    loops: tuple[Loop, ...]
    branches: tuple[int, ...]
    order: int
    node: ast.AST | None = field(default=None, repr=False)

    @property
    def on_chip(self) -> bool:
        return self.memory in (Memory.SBUF, Memory.PSUM)


class IndexKind(StrEnum):
    """How one dimension is indexed."""

    POINT = "point"
    SLICE = "slice"
    FULL = "full"
    ARRAY = "array"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Index:
    """The indices of one dimension: ``base`` over its loop indices and lanes."""

    kind: IndexKind
    base: Affine | None
    lanes: frozenset[Symbol] = frozenset()
    step: int = 1


@dataclass(frozen=True)
class Comparison:
    """``value >= 0`` (or ``== 0``), one conjunct of a mask."""

    value: Affine
    equality: bool = False


@dataclass(frozen=True)
class Mask:
    """Conjuncts of a mask; None where one of them is not affine."""

    parts: tuple[Comparison, ...] | None

    @property
    def symbols(self) -> frozenset[Symbol] | None:
        if self.parts is None:
            return None
        return frozenset(s for part in self.parts for s in part.value.symbols)


@dataclass(frozen=True, eq=False)
class View:
    """A tensor, or a part of one.

    Attributes:
        indices: of the leading dimensions, the others whole; None where the part is unknown.
        shape: of the tile it is: partition first, at least two dimensions; None if unknown.
        blocks: block dimensions that are not indexed yet.
        missing: dimensions that a subscript left out, None where nothing was subscripted.
    """

    storage: Storage
    indices: tuple[Index, ...] | None
    shape: Shape | None
    dtype: str | None
    blocks: int = 0
    missing: int | None = None
    node: ast.AST | None = field(default=None, repr=False)
    broadcast: bool = False

    @property
    def memory(self) -> Memory | None:
        return self.storage.memory

    @property
    def whole(self) -> bool:
        return self.indices == ()


@dataclass(frozen=True, eq=False)
class Operation:
    """One instruction, or one assignment into a tensor (``name`` is then ``assign``).

    Attributes:
        name: dotted, ``nki.isa.nc_matmul``; an operator is ``nki.language.add`` and the like.
        operands: the tensors among the arguments, by parameter name.
        values: arguments that are no tensors: numbers, names of functions, shapes.
        given: argument expressions by parameter name.
        result: what it returns; None where it returns nothing or that is unknown.
        reads, writes: parts of tensors.
        accumulates: it adds to what it writes (``+=``, ``loop_reduce``, a matmul into PSUM).
        source: of an assignment, the operation whose result is assigned.
    """

    name: str
    node: ast.expr | ast.stmt = field(repr=False)
    statement: ast.stmt = field(repr=False)
    operands: Mapping[str, View]
    values: Mapping[str, object]
    given: Mapping[str, ast.expr] = field(repr=False)
    result: View | None
    reads: tuple[View, ...]
    writes: tuple[View, ...]
    accumulates: bool
    mask: Mask | None
    loops: tuple[Loop, ...]
    branches: tuple[int, ...]
    order: int
    operator: bool = False
    source: "Operation | None" = field(default=None, repr=False)

    @property
    def short(self) -> str:
        """Its last name: ``nc_matmul``."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, eq=False)
class Flow:
    """An NKI kernel, interpreted.

    Attributes:
        known: what asserts and annotations say of symbols.
        program: symbols of program ids, by axis.
        complete: no call was met whose effects on tensors are unknown.
    """

    flavour: NkiFlavour | None
    operations: tuple[Operation, ...]
    storages: tuple[Storage, ...]
    loops: tuple[Loop, ...]
    returned: tuple[Storage, ...]
    known: Mapping[Symbol, Affine]
    program: Mapping[int, Symbol]
    complete: bool

    def number(self, value: Affine | None) -> int | None:
        """The number a size is, as far as the kernel says."""
        return None if value is None else value.substitute(self.known).number

    def numbers(self, shape: Shape | None) -> tuple[int | None, ...] | None:
        """The numbers of a shape, None for those that are not known."""
        return None if shape is None else tuple(self.number(side) for side in shape)
