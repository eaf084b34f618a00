"""Tensors, tiles, index sets, loops, instructions and names of an NKI kernel."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.analysis.nki.affine import Affine, Symbol


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
    """A loop of the kernel.

    Attributes:
        symbol: its index, from 0 in steps of 1; None where it counts nothing.
        trip: its number of iterations, None where that is unknown.
        index: the name of its index in the text, None where that is no single name.
        number: when it was met, among loops, tensors and operations.
    """

    kind: LoopKind
    symbol: Symbol | None
    trip: Affine | None
    node: ast.For | ast.While
    index: str | None
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


class Kind(StrEnum):
    """What an expression stands for, whatever its value."""

    NUMBER = "number"
    LOOP = "loop"
    INDEX = "index"
    GRID = "grid"
    MASK = "mask"
    SLICE = "slice"
    TILE = "tile"
    TENSOR = "tensor"
    VIEW = "view"
    ARGUMENT = "argument"
    LIST = "list"
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Region:
    """The body of a loop or of one branch. ``closes``: tiles made in it end with it."""

    node: ast.stmt
    loop: Loop | None
    closes: bool

    @property
    def index(self) -> str | None:
        """The name of the loop's index."""
        return None if self.loop is None else self.loop.index


Path = tuple[Region, ...]


@dataclass(frozen=True, eq=False)
class Fact:
    """What an expression stands for, on whichever branch it is reached.

    Attributes:
        node: the expression that made it; None for an argument.
        buffer: of a tensor, the dotted buffer it was created in; "" where that is not a name.
        base: of a view, the tensor, tile or argument it is a part of.
        loops: the loops it depends on through their indices.
        bare: of an index, that it is a one-dimensional ``arange``.
        is_grid: of an index, that it comes from ``mgrid``.
        path: where it was made.
    """

    kind: Kind
    node: ast.expr | None = None
    buffer: str | None = None
    base: "Fact | None" = None
    name: str | None = None
    loops: frozenset[Loop] = frozenset()
    bare: bool = False
    is_grid: bool = False
    path: Path = ()

    @property
    def storage(self) -> "Fact":
        """The tensor, tile or argument behind a view; itself for all else."""
        return self.base.storage if self.base is not None else self

    @property
    def is_tile(self) -> bool:
        """Whether it is a value on the chip that arithmetic works on."""
        if self.kind is Kind.VIEW:
            return self.storage.is_tile
        return self.kind is Kind.TILE or (self.kind is Kind.TENSOR and self.buffer not in HBM)


HBM = frozenset(f"nki.language.{name}" for name in ("hbm", "private_hbm", "shared_hbm"))
SHARED_HBM = "nki.language.shared_hbm"
NOTHING_KNOWN = Fact(Kind.UNKNOWN)


@dataclass(frozen=True, eq=False)
class Binding:
    """One assignment to a name; ``before`` is what the name stood for until then."""

    name: str
    statement: ast.stmt
    value: ast.expr | None
    fact: Fact
    before: "Binding | None"
    path: Path


@dataclass(frozen=True, eq=False)
class Read:
    """One use of a local name."""

    node: ast.Name
    binding: Binding
    path: Path


@dataclass(frozen=True, eq=False)
class Write:
    """An assignment to a part of something: ``base[...] = value``, ``+=`` too."""

    target: ast.Subscript
    base: Fact
    statement: ast.Assign | ast.AugAssign | ast.AnnAssign
    path: Path


@dataclass(frozen=True, eq=False)
class Branch:
    """A condition: of ``if``, ``while`` or a conditional expression."""

    node: ast.If | ast.While | ast.IfExp
    path: Path
