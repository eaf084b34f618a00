"""The evaluator: facts of each value from those of its operands, every value once.

Operands come before what is computed from them, with an explicit stack, so that the length of
a kernel does not matter. A value at a loop's head is evaluated from what enters the loop; the
body adds what it increments it by.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from weakref import WeakMethod

import tilewright.analysis.tiles.affine as affine
from tilewright.analysis.tiles.arithmetic import tensor_type
from tilewright.analysis.tiles.extents import single_axis
from tilewright.analysis.tiles.joins import settled
from tilewright.analysis.tiles.model import (
    Affine,
    Constant,
    Dim,
    Kind,
    Shape,
    TileFacts,
)
from tilewright.analysis.tiles.polynomial import Polynomial
from tilewright.analysis.tiles.types import WEAK, bits, is_float, is_int
from tilewright.analysis.values import Called, Definition, Flow, Loop, Value

UNKNOWN = TileFacts(Kind.UNKNOWN)

Transfer = Callable[["Engine", Value], TileFacts]


@dataclass(frozen=True)
class Turns:
    """What inference needs of a loop: its bounds, and whether it is unrolled."""

    bounds: tuple[Value, Value, Value] | None
    is_static: bool
    condition: Value | None

    @staticmethod
    def from_loop(loop: Loop, flow: Flow) -> "Turns":
        test = getattr(loop.node, "test", None)
        return Turns(loop.bounds, loop.is_static, None if test is None else flow.values.get(test))


@dataclass
class Subject:
    """The kernel that is looked at, with what inlining adds to its flow.

    Attributes:
        flow: of the kernel.
        parameters: facts of the kernel's parameters.
        globals: facts of names that the file defines outside.
        inline: gives the result of a helper that a value calls, as a value of this kernel.
    """

    flow: Flow
    parameters: Mapping[str, TileFacts]
    globals: Callable[[str], TileFacts]
    inline: Callable[[Value], Value | None]
    back_edges: dict[Value, Value] = field(default_factory=dict)
    sources: dict[Value, Called] = field(default_factory=dict)
    undefined: set[Value] = field(default_factory=set)
    turns: dict[int, Turns] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.back_edges.update(self.flow.back_edges)
        self.sources.update(self.flow.sources)
        self.undefined.update(self.flow.undefined)
        self.turns.update(
            {n: Turns.from_loop(loop, self.flow) for n, loop in self.flow.loops.items()}
        )


class Engine:
    """Facts of one kernel's values. ``transfers`` has a function for each op."""

    def __init__(self, subject: Subject, transfers: Mapping[str, Transfer]) -> None:
        self.subject = subject
        self.variables = Variables(subject.flow, self.facts_of)
        self.unit: set[Value] = set()
        self._transfers = transfers
        self._known: dict[Value, TileFacts] = {}
        self._extents: dict[Polynomial, Value] = {}
        self._entered: set[Value] = set()

    def facts_of(self, value: Value) -> TileFacts:
        """Facts of a value, ``programs`` aside."""
        known = self._known.get(value)
        if known is not None:
            return known
        if value in self._entered:
            return UNKNOWN
        stack = [value]
        while stack:
            current = stack[-1]
            if current in self._known:
                stack.pop()
                continue
            self._entered.add(current)
            missing = [
                v for v in self._needs(current) if v not in self._known and v not in self._entered
            ]
            if missing:
                stack.extend(missing)
                continue
            self._known[current] = self._infer(current)
            stack.pop()
        return self._known[value]

    def _infer(self, value: Value) -> TileFacts:
        transfer = self._transfers.get(value.op)
        return UNKNOWN if transfer is None else transfer(self, value)

    def peek(self, value: Value) -> TileFacts:
        """Facts that are there already, for an operand that may depend on what asks."""
        return self._known.get(value, UNKNOWN)

    def _needs(self, value: Value) -> tuple[Value, ...]:
        match value.op:
            case "select":
                return self._chosen(value)
            case "phi":
                return (*value.operands, *increments(self.subject, value))
            case "after":
                return value.operands
            case "call" | "opaque":
                inlined = self.subject.inline(value)
                return value.operands if inlined is None else (inlined,)
        return value.operands

    def _chosen(self, value: Value) -> tuple[Value, ...]:
        """Of a select, the condition first, then what it may choose."""
        condition = value.operands[0]
        known = self._known.get(condition)
        return (condition,) if known is None else branches(known, value)

    def extent(self, value: Value) -> Dim:
        """A value as the extent of a tile: a number, or one value for all equal ones."""
        facts = self.facts_of(value)
        if facts.constant is not None and isinstance(facts.constant.value, int):
            return int(facts.constant.value)
        if facts.affine is not None and not facts.affine.terms:
            return self.extent_of(facts.affine.constant)
        return value

    def extent_of(self, polynomial: Polynomial) -> Dim:
        """The extent that a polynomial says."""
        number = polynomial.number
        if number is not None:
            return number
        if len(polynomial.monomials) == 1:
            ((factors, coefficient),) = polynomial.monomials
            if coefficient == 1 and len(factors) == 1:
                return factors[0]
        known = self._extents.get(polynomial)
        if known is None:
            known = self._extents[polynomial] = self._spelled(polynomial)
        return known

    def _spelled(self, polynomial: Polynomial) -> Value:
        """A value that computes a polynomial."""
        table = self.subject.flow.table
        total: Value | None = None
        for factors, coefficient in sorted(polynomial, key=_written):
            product: Value | None = None
            if coefficient != 1 or not factors:
                product = table.make("const", detail=coefficient)
            for factor in factors:
                product = (
                    factor
                    if product is None
                    else table.make("binary", product, factor, detail="Mult")
                )
            assert product is not None
            total = product if total is None else table.make("binary", total, product, detail="Add")
        assert total is not None
        self._known.setdefault(
            total, TileFacts(Kind.CONSTEXPR, (), WEAK, affine.constant(polynomial))
        )
        return total

    def polynomial(self, extent: Dim) -> Polynomial | None:
        """An extent as a polynomial."""
        if isinstance(extent, int):
            return Polynomial.from_value(extent)
        form = self.facts_of(extent).affine
        return (
            form.constant if form is not None and not form.terms else Polynomial.from_value(extent)
        )

    def number(
        self,
        value: Value,
        shape: Shape | None,
        dtype: str | None,
        form: Affine | None = None,
    ) -> TileFacts:
        """Facts of a run-time number or a tile of them; an integer has at least its own form."""
        if form is None and is_int(dtype) and dtype != "i1":
            form = self.own_form(value, shape)
        if is_float(dtype):
            form = None
        return TileFacts(
            kind=_kind(shape, dtype),
            shape=shape,
            dtype=dtype,
            affine=form,
            strides=affine.strides(form, shape, self.unit),
            divisibility=1 if form is None else affine.divisibility(form, self._power),
        )

    def own_form(self, value: Value, shape: Shape | None) -> Affine | None:
        """The form of a value that is not taken apart: a scalar, or one index along an axis."""
        if shape is None:
            return None
        axis = single_axis(shape)
        if axis is None:
            scalar = all(extent == 1 for extent in shape)
            return affine.constant(Polynomial.from_value(value)) if scalar else None
        return affine.of_index(value, axis)

    def pointer(
        self, shape: Shape | None, dtype: str | None, base: str | None, form: Affine | None
    ) -> TileFacts:
        """Facts of an address ``form`` elements behind a base, or of a tile of such."""
        power = 1
        known = self.subject.parameters.get(base or "")
        width = bits(dtype)
        if form is not None and known is not None and width is not None:
            offset = affine.divisibility(form, self._power) * max(1, width // 8)
            power = min(known.divisibility, offset)
        strides = affine.strides(form, shape, self.unit)
        return TileFacts(Kind.POINTER, shape, dtype, form, strides, power, base=base)

    def _power(self, value: Value) -> int:
        """A power of two that surely divides the first element of a value."""
        if value.op == "arange":
            form = self.facts_of(value.operands[0]).affine
            return 1 if form is None else affine.power_of(form.constant, self._power)
        if value.op == "loop_index" and len(value.operands) == 3:
            start, _, step = (self.facts_of(v).affine for v in value.operands)
            if start is None or step is None:
                return 1
            return min(
                affine.power_of(start.constant, self._power) if not start.terms else 1,
                affine.power_of(step.constant, self._power) if not step.terms else 1,
            )
        if value.op in ("const", "param", "load", "opaque", "call", "global", "binary"):
            return self.peek(value).divisibility if value.op != "binary" else 1
        return 1


def _written(monomial: tuple[tuple[Value, ...], int]) -> tuple[int, list[int]]:
    """Products before numbers, in program order."""
    factors, _ = monomial
    return -len(factors), [factor.order for factor in factors]


def _kind(shape: Shape | None, dtype: str | None) -> Kind:
    if dtype == "i1":
        return Kind.MASK
    if shape is None:
        return Kind.UNKNOWN
    return Kind.TILE if shape else Kind.SCALAR


def branches(condition: TileFacts, value: Value) -> tuple[Value, ...]:
    """What a select may be: one value where its condition is known."""
    if condition.constant is None:
        return value.operands[1:]
    return (value.operands[1] if condition.constant.value else value.operands[2],)


def increments(subject: Subject, phi: Value) -> tuple[Value, ...]:
    """What a loop adds to a value in a turn; () where it does anything else to it."""
    return tuple(v for v, _ in signed_increments(subject, phi) or ())


def signed_increments(subject: Subject, phi: Value) -> list[tuple[Value, int]] | None:
    """The addends of a turn with their signs, each the same in every iteration."""
    end = subject.back_edges.get(phi)
    loop = loop_number(phi)
    found: list[tuple[Value, int]] = []
    while end is not None and end is not phi:
        if not end.is_binary("Add", "Sub"):
            return None
        left, right = end.operands
        if loop in right.varies:
            if end.detail == "Sub" or loop in left.varies:
                return None
            left, right = right, left
        found.append((right, 1 if end.detail == "Add" else -1))
        end = left
    return found if end is phi else None


def loop_number(value: Value) -> int:
    """The loop that a phi or what is behind a loop belongs to."""
    return int(str(value.detail).split(":", 1)[0])


def constexpr(constant: Constant | None, form: Affine | None = None) -> TileFacts:
    """Facts of a number known when the kernel is compiled."""
    if constant is not None:
        number = constant.value
        if isinstance(number, int) and not isinstance(number, bool):
            power = number & -number if number else affine.MAX_POWER
            return TileFacts(
                Kind.CONSTEXPR,
                (),
                WEAK,
                affine.constant(number),
                (),
                power,
                constant=constant,
            )
        return TileFacts(Kind.CONSTEXPR, (), WEAK, constant=constant)
    return TileFacts(Kind.CONSTEXPR, (), WEAK, form, None if form is None else ())


def is_integer(facts: TileFacts) -> bool:
    """Whether arithmetic on it is on integers."""
    return is_int(facts.dtype) or (facts.dtype == WEAK and facts.affine is not None)


class Variables:
    """Which expressions of a kernel go through a plain assignment."""

    def __init__(self, flow: Flow, facts: Callable[[Value], TileFacts]) -> None:
        self._facts = WeakMethod(facts)  # Its object holds this one.
        self._names = frozenset(
            name for name, found in flow.definitions.items() if all(map(_is_plain, found))
        )
        self._flow = flow
        self._operations: dict[Value, ast.BinOp] | None = None

    def scalar_facts(self, node: ast.expr, facts: TileFacts) -> TileFacts:
        """Facts of an expression, where the compiler has a scalar instead of a number."""
        if facts.kind is not Kind.CONSTEXPR or not self._is_variable(node):
            return facts
        return _as_scalar(facts)

    def named(self, name: str, facts: TileFacts) -> TileFacts:
        """Facts of a name behind its assignment."""
        return _as_scalar(facts) if name in self._names else facts

    def operands(
        self, value: Value, left: TileFacts, right: TileFacts
    ) -> tuple[TileFacts, TileFacts]:
        """Both sides of an operation, as the compiler has them."""
        if self._operations is None:
            self._operations = {
                v: node for node, v in self._flow.values.items() if isinstance(node, ast.BinOp)
            }
        node = self._operations.get(value)
        if node is None:
            return left, right
        return self.scalar_facts(node.left, left), self.scalar_facts(node.right, right)

    def _is_variable(self, node: ast.expr) -> bool:
        return bool(self._names) and any(self._names_in(node))

    def _names_in(self, node: ast.AST) -> Iterator[bool]:
        """Whether each name that a number is computed from was assigned; types have none."""
        if isinstance(node, ast.Name):
            yield node.id in self._names and self._is_number(node)
        elif isinstance(node, ast.Call):
            for given in (*node.args, *(k.value for k in node.keywords)):
                yield from self._names_in(given)
        elif not isinstance(node, ast.Attribute):
            for child in ast.iter_child_nodes(node):
                yield from self._names_in(child)

    def _is_number(self, node: ast.Name) -> bool:
        """Whether a name holds a number here, other than the parameter of that name."""
        value = self._flow.values.get(node)
        if value is None or (value.op == "param" and value.detail == node.id):
            return False
        find = self._facts()
        assert find is not None
        facts = find(value)
        return facts.kind is Kind.CONSTEXPR and _as_scalar(facts) is not facts


def _is_plain(definition: Definition) -> bool:
    return isinstance(definition.statement, ast.Assign | ast.AugAssign)


def _as_scalar(facts: TileFacts) -> TileFacts:
    if facts.constant is not None and not isinstance(facts.constant.value, int | float):
        return facts
    return settled(facts, tensor_type(facts))
