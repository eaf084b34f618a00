"""What a name stands for at each place of an NKI kernel, and the scopes that tiles live in.

No shapes here: these facts say of an expression that it is a tile, an index made by
``arange``, the index of a loop, a number known while tracing, and so on.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.analysis.nki.catalogue import BUFFERS
from tilewright.analysis.nki.model import LoopKind, Memory
from tilewright.source.model import Kernel, NkiFlavour

HBM = frozenset(name for name, (memory, _) in BUFFERS.items() if memory is Memory.HBM)
SHARED_HBM = "nki.language.shared_hbm"


class Kind(StrEnum):
    """What an expression stands for."""

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
    loop: LoopKind | None
    closes: bool
    index: str | None = None


Path = tuple[Region, ...]


@dataclass(frozen=True, eq=False)
class Fact:
    """What is known of one value.

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
    loops: frozenset[Region] = frozenset()
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


UNKNOWN = Fact(Kind.UNKNOWN)


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
class Call:
    """One call. ``dotted`` is None where the callee is no imported or builtin name."""

    node: ast.Call
    dotted: str | None
    path: Path
    statement: ast.stmt

    def argument(self, name: str) -> ast.expr | None:
        """A keyword argument."""
        return next((k.value for k in self.node.keywords if k.arg == name), None)


@dataclass(frozen=True, eq=False)
class Write:
    """An assignment to a part of something: ``base[...] = value``, ``+=`` too."""

    target: ast.Subscript
    base: Fact
    statement: ast.Assign | ast.AugAssign | ast.AnnAssign
    path: Path


@dataclass(frozen=True, eq=False)
class Branch:
    """A condition: of ``if``, ``while``, a conditional expression or an ``assert``."""

    node: ast.If | ast.While | ast.IfExp
    path: Path


@dataclass
class Scopes:
    """What one walk over a kernel finds; ``sums`` are what ``+=`` and its like add to."""

    kernel: Kernel
    flavour: NkiFlavour | None
    facts: dict[ast.expr, Fact] = field(default_factory=dict)
    bound: dict[ast.Name, Binding] = field(default_factory=dict)
    bindings: list[Binding] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    subscripts: list[tuple[ast.Subscript, Path]] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    sums: list[tuple[Fact, Path]] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    logic: list[ast.expr] = field(default_factory=list)
    returns: list[ast.Return] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)

    @property
    def is_older(self) -> bool:
        """Whether the file is written for ``neuronxcc.nki``."""
        return self.flavour is NkiFlavour.NEURONXCC

    def fact(self, node: ast.expr | None) -> Fact:
        return self.facts.get(node, UNKNOWN) if node is not None else UNKNOWN

    def calls_of(self, *dotted: str) -> Iterator[Call]:
        """The calls of functions with these dotted names."""
        return (call for call in self.calls if call.dotted in dotted)
