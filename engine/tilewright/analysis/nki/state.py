"""What the interpreter carries along: local names, regions, and the record it fills in."""

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from tilewright.analysis.nki.affine import Affine, SymbolKind
from tilewright.analysis.nki.flow import Call, Flow
from tilewright.analysis.nki.model import (
    Binding,
    Fact,
    Loop,
    Mask,
    Memory,
    Operation,
    Origin,
    Path,
    Region,
    Shape,
    Storage,
    View,
)
from tilewright.analysis.nki.values import Value
from tilewright.knowledge.nki import NkiFile, nki_interface
from tilewright.source.model import NkiFlavour
from tilewright.source.names import Names


@dataclass(frozen=True)
class Result:
    """What a function of the file returns, with the operation that made it."""

    value: Value
    source: Operation | None


@dataclass
class Frame:
    """A function of the file while it is followed.

    Attributes:
        branches: undecided conditions around the call.
        results: of the returns that were met.
        is_over: a return was met that no condition is around.
    """

    branches: tuple[int, ...]
    results: list[Result] = field(default_factory=list)
    is_over: bool = False

    def returns(self, result: Result, branches: tuple[int, ...]) -> None:
        """A return under these conditions; one that never happens does not count."""
        if -1 not in branches[len(self.branches) :]:
            self.results.append(result)
            self.is_over = branches == self.branches


@dataclass
class State:
    """Mutable while one kernel is interpreted; only its ``flow`` leaves.

    Attributes:
        names: of the file.
        constants: of the file, names that are given a value once.
        local: what each local name was last given, on any branch.
        env: values of local names in the turn and the branch that is followed.
        path: regions around the statement, and the loops among them.
        branches: undecided conditions around it.
        helpers: functions of the file that calls are followed into, by ``follow``.
        frame: of the function that is followed; None in the kernel itself.
        depth, followed: functions around the statement, and calls followed so far.
    """

    names: Names
    flow: Flow
    constants: Mapping[str, ast.expr]
    local: dict[str, Binding] = field(default_factory=dict)
    env: dict[str, Value] = field(default_factory=dict)
    by_node: dict[int, Operation] = field(default_factory=dict)
    path: Path = ()
    loops: tuple[Loop, ...] = ()
    branches: tuple[int, ...] = ()
    statement: ast.stmt = field(default_factory=ast.Pass)
    order: int = 0
    constant_depth: int = 0
    helpers: Mapping[str, ast.FunctionDef] = field(default_factory=dict)
    follow: "Callable[[State, Call, ast.FunctionDef], Value | None] | None" = None
    frame: Frame | None = None
    depth: int = 0
    followed: int = 0

    @cached_property
    def offers(self) -> NkiFile:
        """What the package offers that the kernel is written for."""
        return nki_interface((self.flow.flavour or NkiFlavour.NEURONXCC).value)

    def tick(self) -> int:
        """The next order number."""
        self.order += 1
        return self.order

    def dotted(self, node: ast.expr) -> str | None:
        """The dotted name of something imported or built in; None for what is local."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.local:
            return self.names.resolve(node)
        return None

    def bind(self, name: str, fact: Fact, value: ast.expr | None) -> None:
        """Give a local name what an expression stands for."""
        before = self.local.get(name)
        binding = Binding(name, self.statement, value, fact, before, self.path)
        self.local[name] = binding
        self.flow.bindings.append(binding)

    def unify(self, left: Affine, right: Affine) -> None:
        """Take two integers for equal, as an assert says."""
        known = self.flow.known
        left, right = left.substitute(known), right.substitute(known)
        for one, two in ((left, right), (right, left)):
            symbol = one.symbol
            if symbol is None or symbol.kind is not SymbolKind.SIZE or symbol in two.symbols:
                continue
            fact = {symbol: two}
            known.update({s: v.substitute(fact) for s, v in known.items()} | fact)
            return

    @contextmanager
    def inside(self, region: Region) -> Iterator[None]:
        """The statements of a loop or a branch."""
        path, loops = self.path, self.loops
        self.path = (*path, region)
        if region.loop is not None:
            self.loops = (*loops, region.loop)
        yield
        self.path, self.loops = path, loops

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Follow names alone: what is computed inside never happens, or not in this order."""
        flow, env, branches = self.flow, dict(self.env), self.branches
        lists: tuple[list[Operation] | list[Storage] | list[Loop], ...] = (
            flow.operations,
            flow.storages,
            flow.loops,
            flow.returned,
        )
        lengths = [len(one) for one in lists]
        program, complete = dict(flow.program), flow.complete
        self.branches = (*branches, -1)
        yield
        for one, length in zip(lists, lengths, strict=True):
            del one[length:]
        flow.program, flow.complete = program, complete
        self.env, self.branches = env, branches

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
        self.flow.storages.append(made)
        return made

    def operation(
        self,
        name: str,
        node: ast.expr | ast.stmt,
        reads: tuple[View, ...],
        writes: tuple[View, ...] = (),
        *,
        operands: Mapping[str, View] | None = None,
        values: Mapping[str, object] | None = None,
        given: Mapping[str, ast.expr] | None = None,
        result: View | None = None,
        accumulates: bool = False,
        mask: Mask | None = None,
        operator: bool = False,
        source: Operation | None = None,
    ) -> None:
        """Record an instruction, or something that reads tensors and is none."""
        made = Operation(
            name=name,
            node=node,
            statement=self.statement,
            operands=operands or {},
            values=values or {},
            given=given or {},
            result=result,
            reads=reads,
            writes=writes,
            accumulates=accumulates,
            mask=mask,
            loops=self.loops,
            branches=self.branches,
            order=self.tick(),
            operator=operator,
            source=source,
        )
        self.flow.operations.append(made)
        self.by_node[id(node)] = made


def whole(storage: Storage, node: ast.AST | None = None) -> View:
    """All of a tensor."""
    return View(storage, (), storage.shape, storage.dtype, storage.partition, node=node)
