"""The result of interpreting an NKI kernel: everything its body names, computes and stores."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilewright.analysis.nki.affine import Affine, Symbol
from tilewright.analysis.nki.model import (
    NOTHING_KNOWN,
    Binding,
    Branch,
    Fact,
    Loop,
    Operation,
    Path,
    Read,
    Shape,
    Storage,
    Write,
)
from tilewright.analysis.nki.values import UNKNOWN, Value
from tilewright.source.model import NkiFlavour


@dataclass(frozen=True, eq=False)
class Call:
    """One call. ``dotted`` is None where the callee is no imported or builtin name."""

    node: ast.Call
    dotted: str | None
    positional: tuple[Value, ...]
    keywords: Mapping[str, Value]
    path: Path
    statement: ast.stmt

    @property
    def name(self) -> str:
        """The dotted name; of a function of the kernel's own, its name; "" of an expression."""
        function = self.node.func
        return self.dotted or (function.id if isinstance(function, ast.Name) else "")

    def argument(self, name: str) -> ast.expr | None:
        """The expression of a keyword argument."""
        return next((k.value for k in self.node.keywords if k.arg == name), None)


@dataclass(eq=False)
class Flow:
    """An NKI kernel, interpreted; complete when ``nki_flow`` returns it, and not changed after.

    Each statement is visited once, in program order, and gives two kinds of record. What is
    computed is of one turn of each loop, and leaves out a branch whose condition is known to be
    false; what names and expressions stand for is of every branch.

    Attributes:
        operations: instructions and assignments into tensors, in order.
        storages: tensors and tiles, each with its memory, its shape and its partition axis.
        loops: with kind and trip count.
        returned: tensors that are returned.
        known: what asserts and annotations say of symbols.
        program: symbols of program ids, by axis.
        complete: no call was met whose effects on tensors are unknown.
        values: of expressions of the kernel, when they were last evaluated.
        facts: what expressions stand for: a tile, an index, a number known while tracing.
        bound: the binding that a name reads.
        bindings, reads, calls, subscripts, writes, branches: with the regions they stand in.
        sums: what ``+=`` and its like add to.
        logic: expressions with ``and``, ``or``, ``not`` or a chained comparison.
        hidden: names that a definition inside the kernel, or a lambda, may read and write.
    """

    flavour: NkiFlavour | None
    operations: list[Operation] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    returned: list[Storage] = field(default_factory=list)
    known: dict[Symbol, Affine] = field(default_factory=dict)
    program: dict[int, Symbol] = field(default_factory=dict)
    complete: bool = True
    values: dict[ast.expr, Value] = field(default_factory=dict)
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

    def number(self, value: Affine | None) -> int | None:
        """The number a size is, if the kernel gives it."""
        return None if value is None else value.substitute(self.known).number

    def numbers(self, shape: Shape | None) -> tuple[int | None, ...] | None:
        """The numbers of a shape, None for those that are not known."""
        return None if shape is None else tuple(self.number(side) for side in shape)

    def value(self, node: ast.expr) -> Value:
        """The value an expression had when it was last evaluated."""
        return self.values.get(node, UNKNOWN)

    def fact(self, node: ast.expr | None) -> Fact:
        """What an expression stands for."""
        return self.facts.get(node, NOTHING_KNOWN) if node is not None else NOTHING_KNOWN

    def calls_of(self, *dotted: str) -> Iterator[Call]:
        """The calls of functions with these dotted names."""
        return (call for call in self.calls if call.dotted in dotted)
