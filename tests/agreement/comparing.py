"""What tile inference claims of each expression, against what the compiler made of it."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from recording import Place, Seen

from tilewright.analysis import AnalysisContext
from tilewright.analysis.dtypes import WEAK
from tilewright.analysis.flow import flow_of
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.tiles import Dim, Kind, TileFacts, Tiles, tiles_of
from tilewright.analysis.values import Flow, Value
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import LaunchFacts

ASPECTS = ("shape", "dtype", "kind", "constexpr")
"""The last is of its own: whether what the compiler folded to a number is called a constexpr."""
CONSTANT = "constexpr"
_FOLDED = (Kind.CONSTEXPR, Kind.DTYPE)
EQUAL, DIFFERENT, UNKNOWN, SYMBOLIC = "equal", "different", "unknown", "symbolic"


@dataclass(frozen=True)
class Disagreement:
    """One claim that the compiler contradicts."""

    file: str
    kernel: str
    line: int
    column: int
    source: str
    value: str
    aspect: str
    inferred: str
    compiled: str
    given: str


@dataclass
class Tally:
    """Counts of one comparison, or of many together.

    ``verdicts`` counts (aspect, verdict); ``unknown`` counts (aspect, what inference stops at) and
    ``examples`` has a place for each.
    """

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    disagreements: list[Disagreement] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        self.verdicts.update(other.verdicts)
        self.unknown.update(other.unknown)
        self.examples = {**other.examples, **self.examples}
        self.disagreements += other.disagreements

    def count(self, aspect: str) -> int:
        """How many values were compared in this aspect."""
        return sum(n for (which, _), n in self.verdicts.items() if which == aspect)

    def known(self, aspect: str) -> float:
        """The share of values of which inference claims this aspect."""
        return 1 - self.verdicts[aspect, UNKNOWN] / max(1, self.count(aspect))

    def equal(self, aspect: str) -> float:
        """The share of checked claims that the compiler confirms."""
        right, wrong = self.verdicts[aspect, EQUAL], self.verdicts[aspect, DIFFERENT]
        return right / max(1, right + wrong)


@dataclass
class Tallies:
    """Kernels apart from functions that kernels call: of a call's arguments less is known."""

    kernels: Tally = field(default_factory=Tally)
    functions: Tally = field(default_factory=Tally)

    def add(self, other: "Tallies") -> None:
        self.kernels.add(other.kernels)
        self.functions.add(other.functions)

    def together(self) -> Tally:
        both = Tally()
        both.add(self.kernels)
        both.add(self.functions)
        return both


def compare(module: Module, seen: Mapping[Place, set[Seen]], launch: LaunchFacts) -> Tallies:
    """Compare everything that was recorded of one file in one specialization."""
    context = AnalysisContext(launches=(launch,))
    tallies = Tallies()
    for kernel in module.kernels:
        nodes = {
            place: node
            for node in ast.walk(kernel.node)
            if _yields_a_value(node) and (place := Place.of(node)) is not None and place in seen
        }
        if nodes:
            one = _Comparison(module, kernel, context, launch)
            one.run({node: seen[place] for place, node in nodes.items()})
            own = tallies.kernels if kernel.name == launch.kernel else tallies.functions
            own.add(one.tally)
    return tallies


def _yields_a_value(node: ast.AST) -> TypeGuard[ast.expr]:
    """Not what is assigned to (``x += y`` builds ``x`` there twice), and no docstring."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return False
    return isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store)


class _Comparison:
    """One kernel in one specialization."""

    def __init__(
        self,
        module: Module,
        kernel: Kernel,
        context: AnalysisContext,
        launch: LaunchFacts,
    ) -> None:
        self._module, self._kernel, self._launch = module, kernel, launch
        self._flow: Flow = flow_of(module, kernel)
        self._tiles: Tiles = tiles_of(module, kernel, context)
        own = launch.kernel == kernel.name
        self._numbers = Numbers.of_launch(launch) if own else Numbers()
        self._observed: dict[Value, int] = {}
        self._nodes = {value: node for node, value in reversed(self._flow.values.items())}
        self.tally = Tally()

    def run(self, seen: Mapping[ast.expr, set[Seen]]) -> None:
        self._observe(seen)
        for node, all_seen in seen.items():
            forms = {s.form for s in all_seen}
            if CONSTANT not in forms:
                self._judge(node, all_seen)
            elif forms == {CONSTANT}:
                self._count(node, "constexpr", *_constant(self._tiles.facts_at(node)), all_seen)

    def _observe(self, seen: Mapping[ast.expr, set[Seen]]) -> None:
        """The numbers that constexprs had: they give symbolic extents a value."""
        for node, all_seen in seen.items():
            numbers = {s.constant for s in all_seen if isinstance(s.constant, int)}
            value = self._flow.values.get(node)
            if value is not None and len(all_seen) == len(numbers) == 1:
                self._observed[value] = int(next(iter(numbers)))

    def _judge(self, node: ast.expr, compiled: set[Seen]) -> None:
        for aspect, (verdict, said) in self._verdicts(self._tiles.facts_at(node), compiled).items():
            self._count(node, aspect, verdict, said, compiled)

    def _count(
        self, node: ast.expr, aspect: str, verdict: str, said: str, compiled: set[Seen]
    ) -> None:
        self.tally.verdicts[aspect, verdict] += 1
        if verdict == UNKNOWN:
            self._stop(node, aspect)
        if verdict == DIFFERENT:
            self._disagree(node, aspect, said, compiled)

    def _verdicts(self, facts: TileFacts, compiled: set[Seen]) -> dict[str, tuple[str, str]]:
        return {
            "shape": self._shape(facts, {s.shape for s in compiled}),
            "dtype": _dtype(facts, {s.dtype for s in compiled}),
            "kind": _kind(facts, compiled),
        }

    def _shape(self, facts: TileFacts, compiled: set[tuple[int, ...]]) -> tuple[str, str]:
        if facts.shape is None:
            return UNKNOWN, ""
        numbers = tuple(self._number(dim) for dim in facts.shape)
        said = f"({', '.join('?' if n is None else str(n) for n in numbers)})"
        if any(len(numbers) != len(shape) for shape in compiled):
            return DIFFERENT, said
        if None in numbers:
            return SYMBOLIC, said
        return EQUAL if compiled == {numbers} else DIFFERENT, said

    def _number(self, dim: Dim) -> int | None:
        if isinstance(dim, int):
            return dim
        return self._observed.get(dim, number_of(dim, self._numbers))

    def _disagree(self, node: ast.expr, aspect: str, said: str, compiled: set[Seen]) -> None:
        value = self._flow.values.get(node)
        self.tally.disagreements.append(
            Disagreement(
                file=self._module.path,
                kernel=self._kernel.name,
                line=node.lineno,
                column=node.col_offset + 1,
                source=ast.unparse(node),
                value="none" if value is None else _name(value),
                aspect=aspect,
                inferred=said,
                compiled=" or ".join(sorted(_said(s, aspect) for s in compiled)),
                given=_given(self._launch),
            )
        )

    def _stop(self, node: ast.expr, aspect: str) -> None:
        stop = self._stops_at(node, aspect)
        self.tally.unknown[aspect, stop] += 1
        place = f"{self._module.path}:{node.lineno}: {ast.unparse(node)[:100]}"
        self.tally.examples.setdefault((aspect, stop), place)

    def _stops_at(self, node: ast.expr, aspect: str) -> str:
        """The innermost operand of which this is not known: what inference would have to learn."""
        value = self._flow.values.get(node)
        if value is None:
            return f"not evaluated: {type(node).__name__}"
        seen = {value}
        while True:
            deeper = next((o for o in self._unknown(value, aspect) if o not in seen), None)
            if deeper is None:
                return self._described(value)
            seen.add(deeper)
            value = deeper

    def _described(self, value: Value) -> str:
        """The operation, and for what is not modelled the kind of expression it is."""
        node = self._nodes.get(value)
        if value.op != "opaque" or node is None:
            return _name(value)
        if isinstance(node, ast.Call):
            return f"opaque Call {ast.unparse(node.func)}"
        return f"opaque {type(node).__name__}"

    def _unknown(self, value: Value, aspect: str) -> Iterator[Value]:
        for operand in value.operands:
            facts = self._tiles.facts_of(operand)
            known = facts.kind if aspect in ("kind", "constexpr") else getattr(facts, aspect)
            if operand.op not in ("global", "const", "tuple") and known in (None, Kind.UNKNOWN):
                yield operand


def _given(launch: LaunchFacts) -> str:
    return ", ".join(
        f"{a.name}={a.value!r}" if a.type == CONSTANT else f"{a.name}: {a.type}"
        for a in launch.arguments
    )


def _dtype(facts: TileFacts, compiled: set[str]) -> tuple[str, str]:
    if facts.dtype is None:
        return UNKNOWN, ""
    if facts.dtype == WEAK and facts.kind is Kind.UNKNOWN:
        return UNKNOWN, ""
    return EQUAL if compiled == {facts.dtype} else DIFFERENT, facts.dtype


def _kind(facts: TileFacts, compiled: set[Seen]) -> tuple[str, str]:
    if facts.kind is Kind.UNKNOWN:
        return UNKNOWN, ""
    allowed = set.intersection(*({*_kinds(s)} for s in compiled))
    return EQUAL if facts.kind in allowed else DIFFERENT, facts.kind.value


def _constant(facts: TileFacts) -> tuple[str, str]:
    if facts.kind is Kind.UNKNOWN:
        return UNKNOWN, ""
    return EQUAL if facts.kind in _FOLDED else DIFFERENT, facts.kind.value


def _kinds(seen: Seen) -> tuple[Kind, ...]:
    """What inference may call a value of the compiler."""
    if seen.form == "pointer":
        return (Kind.POINTER,)
    if seen.form == "descriptor":
        return (Kind.DESCRIPTOR,)
    if seen.dtype == "i1":
        return (Kind.MASK,)
    return (Kind.TILE,) if seen.shape else (Kind.SCALAR,)


def _said(seen: Seen, aspect: str) -> str:
    if aspect == "constexpr":
        return repr(seen.constant)
    if aspect == "shape":
        return f"({', '.join(map(str, seen.shape))})"
    return seen.dtype if aspect == "dtype" else _kinds(seen)[0].value


def _name(value: Value) -> str:
    detail = "" if value.op in ("opaque", "load", "phi", "after") else str(value.detail)
    return f"{value.op} {detail}".strip()
