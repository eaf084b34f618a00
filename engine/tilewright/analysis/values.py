"""Values a kernel computes, as hash-consed expressions: equal expressions are one object.

Names are gone here. A value knows its operation, its operands, and the loops in which it
changes from one turn to the next; whatever is not understood is an ``opaque`` value that
equals nothing else.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
Detail = str | int | float | bool | None
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Value:
    """One computed value.

    Attributes:
        op: "const", "param", "global", "program_id", "arange", "load", "dot", "cast",
            "binary", "unary", "compare", "expand", "call", "method", "attribute", "tuple",
            "item", "select", "loop_index", "phi" (at the head of a loop), "after" (a loop),
            or "opaque".
        operands: what it is computed from.
        detail: the operator, dotted name, literal, axis or dtype, as the op needs.
        varies: numbers of the loops in which it may change from turn to turn.
        keywords: names of the trailing operands of a call.
        order: position among the values of its table, operands before what uses them.
        operations: the operations of the value and of all that it is computed from.
    """

    op: str
    operands: tuple["Value", ...] = field(repr=False)
    detail: Detail
    varies: frozenset[int] = field(repr=False)
    keywords: tuple[str, ...] = ()
    order: int = 0
    operations: frozenset[str] = field(default=frozenset(), repr=False)

    def is_invariant_in(self, loop: int) -> bool:
        """Whether it is the same in every iteration of a loop, memory aside."""
        return loop not in self.varies

    def keyword(self, name: str) -> "Value | None":
        """A call's keyword argument."""
        if name not in self.keywords:
            return None
        return self.operands[len(self.operands) - len(self.keywords) + self.keywords.index(name)]

    @property
    def positional(self) -> tuple["Value", ...]:
        return self.operands[: len(self.operands) - len(self.keywords)]

    def argument(self, at: int, name: str) -> "Value | None":
        """A call's argument by its name, else by its position."""
        given = self.keyword(name)
        return given or (self.positional[at] if at < len(self.positional) else None)

    @property
    def uncast(self) -> "Value":
        """The value without casts of it."""
        value = self
        while value.op == "cast" and value.operands:
            value = value.operands[0]
        return value

    def is_const(self, number: int) -> bool:
        """Whether it is this literal."""
        return self.op == "const" and self.detail == number

    def is_call(self, *dotted: str) -> bool:
        """Whether it is a call of one of these dotted names."""
        return self.op == "call" and self.detail in dotted

    def is_binary(self, *operators: str) -> bool:
        """Whether it is ``a + b`` and the like: "Add", "Sub", "Mult", ..."""
        return self.op == "binary" and self.detail in operators


class ValueTable:
    """Makes values, one object for each expression."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Value] = {}
        self._unique = 0
        self._made = 0

    def make(
        self,
        op: str,
        *operands: Value,
        detail: Detail = None,
        keywords: tuple[str, ...] = (),
        varies: frozenset[int] = frozenset(),
    ) -> Value:
        """The value of an expression; ``varies`` adds to what the operands vary in."""
        key = (op, type(detail), detail, keywords, varies, *map(id, operands))
        value = self._known.get(key)
        if value is None:
            every = varies.union(*(o.varies for o in operands))
            value = self.fresh(op, operands, detail, every, keywords)
            self._known[key] = value
        return value

    def fresh(
        self,
        op: str,
        operands: tuple[Value, ...],
        detail: Detail,
        varies: frozenset[int],
        keywords: tuple[str, ...] = (),
    ) -> Value:
        """A value that varies in these loops and no other, whatever its operands do."""
        self._made += 1
        return Value(op, operands, detail, varies, keywords, self._made, _operations(op, operands))

    def opaque(self, *operands: Value, varies: frozenset[int] = frozenset()) -> Value:
        """A value equal to no other."""
        self._unique += 1
        return self.make("opaque", *operands, detail=self._unique, varies=varies)


def _operations(op: str, operands: tuple[Value, ...]) -> frozenset[str]:
    """The operations of a value; most are those of an operand, and one object with them."""
    found = operands[0].operations if operands else _NONE
    for operand in operands[1:]:
        if not operand.operations <= found:
            found |= operand.operations
    return found if op in found else found | {op}


def walk(value: Value) -> Iterator[Value]:
    """The value and everything it is computed from, each once."""
    # Detectors ask this of each value: without a call for each, it takes half the time.
    seen: set[int] = set()
    pending = [value]
    while pending:
        current = pending.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            pending.extend(current.operands)


def reached(start: T, onward: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """The start and all that is reached from it, each object once, depth first."""
    seen: set[int] = set()
    pending = [start]
    while pending:
        current = pending.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            pending.extend(onward(current))


def values_within(value: Value, is_passed: Callable[[Value], bool]) -> Iterator[Value]:
    """The value, and the operands of each value that is passed through; each once.

    A value may be an operand of many: to look at it each time it is met takes forever.
    """
    return reached(value, lambda current: current.operands if is_passed(current) else ())


def same_form(one: Value, two: Value, loops: Mapping[int, int], depth: int = 0) -> bool:
    """Whether ``two`` is ``one`` with the index of each loop replaced as ``loops`` says."""
    if one is two:
        return True
    if depth > 60 or one.op != two.op or len(one.operands) != len(two.operands):
        return False
    if one.op == "loop_index":
        if loops.get(int(one.detail or 0)) != two.detail:
            return False
    elif (
        one.detail != two.detail
        or one.keywords != two.keywords
        or one.op in ("opaque", "load", "phi", "after")
    ):
        return False
    return all(
        same_form(a, b, loops, depth + 1) for a, b in zip(one.operands, two.operands, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop of a kernel. ``bounds`` are (start, stop, step) of ``range`` and its kin.

    Numbers count up in program order, together with those of accesses and definitions.
    """

    number: int
    node: ast.For | ast.While
    parent: int | None
    bounds: tuple[Value, Value, Value] | None
    is_static: bool
    branches: tuple[int, ...]

    @property
    def row(self) -> tuple[str, str] | None:
        """(extent, block), both parameters, of a loop that walks one row in blocks.

        ``range(0, extent, block)``, or ``range(cdiv(extent, block))``.
        """
        if self.bounds is None or not self.bounds[0].is_const(0):
            return None
        _, extent, block = self.bounds
        if block.is_const(1):
            extent, block = _ceiling_division(extent) or (extent, block)
        if extent.op != "param" or block.op != "param":
            return None
        return str(extent.detail), str(block.detail)


def _ceiling_division(value: Value) -> tuple[Value, Value] | None:
    """The operands of ``cdiv(x, b)`` and of ``(x + b - 1) // b``."""
    if value.op == "call" and str(value.detail).endswith("cdiv") and len(value.positional) == 2:
        return value.operands[0], value.operands[1]
    match value:
        case Value(op="binary", detail="FloorDiv", operands=(above, block)):
            pass
        case _:
            return None
    match above:
        case Value(operands=(Value(operands=(extent, added)), one)) if (
            above.is_binary("Sub")
            and above.operands[0].is_binary("Add")
            and one.is_const(1)
            and added is block
        ):
            return extent, block
    return None


@dataclass(frozen=True, eq=False)
class Access:
    """A load, store or atomic.

    Attributes:
        kind: "load", "store" or "atomic".
        base: the pointer parameter it goes through; None if that cannot be derived.
        result: the loaded value; for a store the value stored.
        loops: numbers of the enclosing loops, outermost first.
        branches: the enclosing conditional branches, outermost first.
        order: position in program order.
        statement: the statement it stands in.
    """

    kind: str
    node: ast.Call
    pointer: Value
    mask: Value | None
    other: Value | None
    result: Value | None
    base: str | None
    loops: tuple[int, ...]
    branches: tuple[int, ...]
    order: int
    statement: ast.stmt

    @property
    def is_plain(self) -> bool:
        """Not volatile, and with no cache modifier that asks memory anew."""
        return not any(k.arg in ("volatile", "cache_modifier", "sem") for k in self.node.keywords)


@dataclass(frozen=True, eq=False)
class Definition:
    """An assignment to a name: the statement, what it was given, where."""

    name: str
    statement: ast.stmt
    value: Value
    loops: tuple[int, ...]
    branches: tuple[int, ...]
    order: int


@dataclass(frozen=True, eq=False)
class Called:
    """What an opaque value comes from: a call (or method of the first operand) by name."""

    name: str
    is_method: bool
    positional: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


@dataclass(eq=False)
class Flow:
    """What ``flow_of`` finds out about one kernel.

    ``sources`` says of opaque values what was called; ``undefined`` are opaque values that
    stand for a name on a path that does not assign it. ``result`` is what a helper returns.
    """

    values: dict[ast.expr, Value] = field(default_factory=dict)
    loops: dict[int, Loop] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)
    definitions: dict[str, list[Definition]] = field(default_factory=dict)
    uses: dict[str, list[ast.Name]] = field(default_factory=dict)
    placed: list[tuple[ast.Call, Value, tuple[int, ...]]] = field(default_factory=list)
    back_edges: dict[Value, Value] = field(default_factory=dict)
    may_write_unknown: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    sources: dict[Value, Called] = field(default_factory=dict)
    undefined: set[Value] = field(default_factory=set)
    result: Value | None = None
    table: ValueTable = field(default_factory=ValueTable)

    @property
    def loads(self) -> list[Access]:
        return [a for a in self.accesses if a.kind == "load"]

    @property
    def writes(self) -> list[Access]:
        return [a for a in self.accesses if a.kind != "load"]

    def calls(self, *dotted: str) -> Iterator[tuple[ast.Call, Value, tuple[int, ...]]]:
        """Calls of a dotted name: the node, its value, the enclosing loops."""
        return (c for c in self.placed if c[1].op in ("call", "dot") and c[1].detail in dotted)
