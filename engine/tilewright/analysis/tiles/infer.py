"""Tile inference over a kernel's flow: facts of each value, computed once."""

import ast
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace

from tilewright.analysis.expressions import PURE_BUILTINS
from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.per_kernel import Same, kept_by, per_module
from tilewright.analysis.tiles.engine import (
    UNKNOWN,
    Engine,
    Subject,
    branches,
    constexpr,
    loop_number,
)
from tilewright.analysis.tiles.inline import Inliner
from tilewright.analysis.tiles.model import Constant, Kind, Shape, TileFacts
from tilewright.analysis.tiles.operations import TRANSFERS
from tilewright.analysis.tiles.parameters import is_launched, parameter_facts, written
from tilewright.analysis.values import Value
from tilewright.source.called import called_names
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.model import Kernel, Module
from tilewright.source.parse import module_constants
from tilewright.targets.model import LaunchFacts

_CREATIONS = ("triton.language.zeros", "triton.language.full")
Axes = frozenset[int] | None
_NONE: frozenset[int] = frozenset()
_READS = ("load", "gather")


class Programs:
    """The grid axes of each value, None where that is not known."""

    def __init__(self, engine: Engine, subject: Subject) -> None:
        self._engine = engine
        self._subject = subject
        self._known: dict[Value, Axes] = {}
        flow = subject.flow
        self._written: Mapping[str | None, int] = written(flow)
        self._is_read_only = not flow.may_write_unknown and None not in self._written

    def axes_of(self, value: Value) -> Axes:
        """The axes over which a value may differ."""
        if value not in self._known:
            self._solve(value)
        return self._known[value]

    def _solve(self, root: Value) -> None:
        """Everything that a value depends on, swept until nothing changes."""
        order = self._reachable(root)
        found: dict[Value, Axes] = {value: self._own(value) for value, _ in order}
        changed = True
        while changed:
            changed = False
            for value, sources in order:
                before = found[value]
                after = before
                for source in sources:
                    known = found[source] if source in found else self._known[source]
                    after = None if after is None or known is None else after | known
                if after != before:
                    found[value] = after
                    changed = True
        self._known.update(found)

    def _reachable(self, root: Value) -> list[tuple[Value, tuple[Value, ...]]]:
        """Values in post-order with what each depends on."""
        order: list[tuple[Value, tuple[Value, ...]]] = []
        seen: set[Value] = {root}
        stack: list[tuple[Value, tuple[Value, ...], int]] = [(root, self._sources(root), 0)]
        while stack:
            value, sources, place = stack.pop()
            while place < len(sources) and (
                sources[place] in seen or sources[place] in self._known
            ):
                place += 1
            if place == len(sources):
                order.append((value, sources))
                continue
            following = sources[place]
            seen.add(following)
            stack.append((value, sources, place + 1))
            stack.append((following, self._sources(following), 0))
        return order

    def _sources(self, value: Value) -> tuple[Value, ...]:
        """What a value depends on."""
        subject = self._subject
        match value.op:
            case "select":
                condition = self._engine.facts_of(value.operands[0])
                chosen = branches(condition, value)
                chosen = tuple(v for v in chosen if v not in subject.undefined)
                return chosen if condition.constant is not None else (value.operands[0], *chosen)
            case "phi":
                end = subject.back_edges.get(value)
                return value.operands if end is None else (*value.operands, end)
            case "after":
                turns = subject.turns.get(loop_number(value))
                ends = () if turns is None or turns.bounds is None else turns.bounds
                test = () if turns is None or turns.condition is None else (turns.condition,)
                return (*value.operands, *ends, *test)
            case "call" | "opaque":
                inlined = subject.inline(value)
                return value.operands if inlined is None else (inlined,)
        return value.operands

    def _own(self, value: Value) -> Axes:
        """What a value adds to its operands."""
        match value.op:
            case "program_id":
                return frozenset({value.detail}) if isinstance(value.detail, int) else None
            case "load":
                return _NONE if self._is_stable(value.operands[0]) else None
            case "opaque":
                return self._of_opaque(value)
            case "call":
                name = str(value.detail)
                is_pure = name.startswith("triton.") or name in PURE_BUILTINS
                return _NONE if is_pure or self._subject.inline(value) is not None else None
            case "after":
                turns = self._subject.turns.get(loop_number(value))
                if turns is None or (turns.bounds is None and turns.condition is None):
                    return None
                return _NONE
        return _NONE

    def _of_opaque(self, value: Value) -> Axes:
        if value in self._subject.undefined or self._subject.inline(value) is not None:
            return _NONE
        source = self._subject.sources.get(value)
        if source is not None and source.is_method and source.name in _READS:
            return _NONE if self._is_stable(value.operands[0]) else None
        return None

    def _is_stable(self, address: Value) -> bool:
        """Whether nothing in the kernel writes what is read there."""
        facts = self._engine.facts_of(address)
        if facts.kind is Kind.UNKNOWN or facts.base is None:
            return False
        return self._is_read_only and facts.base not in self._written


class Tiles:
    """What inference says of one kernel's values. Safe between threads."""

    def __init__(self, module: Module, kernel: Kernel, launches: tuple[LaunchFacts, ...]) -> None:
        self._flow = flow_of(module, kernel)
        inliner = Inliner(module, self._flow)
        subject = Subject(
            flow=self._flow,
            parameters=parameter_facts(module, kernel, launches),
            globals=_globals_of(module),
            inline=inliner.result,
        )
        inliner.attach(subject)
        self._engine = Engine(subject, TRANSFERS)
        self._variables = self._engine.variables
        self._programs = Programs(self._engine, subject)
        self._known: dict[Value, TileFacts] = {}
        # A value that another thread has begun must not be taken for one that cannot be known.
        self._lock = threading.RLock()

    def facts_of(self, value: Value) -> TileFacts:
        """What is known of a value of this kernel's flow."""
        known = self._known.get(value)
        return self._infer(value) if known is None else known

    def _infer(self, value: Value) -> TileFacts:
        with self._lock:
            facts = self._engine.facts_of(value)
            axes = self._programs.axes_of(value)
            known = facts if axes is None else replace(facts, programs=axes)
            self._known[value] = known
        return known

    def assigned(self, statement: ast.stmt, name: str) -> TileFacts:
        """What is known of a name behind the statement that assigns it."""
        for definition in self._flow.definitions.get(name, ()):
            if definition.statement is statement:
                with self._lock:
                    return self._variables.named(name, self.facts_of(definition.value))
        return UNKNOWN

    def facts_at(self, node: ast.expr) -> TileFacts:
        """What is known of an expression of this kernel."""
        value = self._flow.values.get(node)
        if value is None:
            return UNKNOWN
        with self._lock:
            return self._variables.scalar_facts(node, self.facts_of(value))


def tiles_of(module: Module, kernel: Kernel, context: AnalysisContext | None = None) -> Tiles:
    """The tiles of a kernel, given what the context says of its launches."""
    launches = context.launches if context is not None else ()
    return _tiles(module, kernel, tuple(x for x in launches if x.kernel == kernel.name))


def _key(module: Module, kernel: Kernel, launches: tuple[LaunchFacts, ...]) -> Hashable:
    known = _known_keys(module)
    key = known.get(kernel.node)
    if key is None:
        flows = tuple(Same(flow_of(module, each)) for each in _inlined(module, kernel))
        key = known[kernel.node] = module.era, flows, is_launched(module, kernel)
    return (*key, *map(Same, launches))


@per_module
def _known_keys(module: Module) -> dict[ast.FunctionDef, tuple[Hashable, ...]]:
    return {}


def _inlined(module: Module, kernel: Kernel) -> list[Kernel]:
    """A kernel and the file's jit functions that it calls, those that these call, and so on."""
    kernels = module.lookup.kernels
    found = {id(kernel): kernel}
    pending = [kernel]
    while pending:
        for name in sorted(called_names(pending.pop().node) & kernels.keys()):
            helper = kernels[name]
            if id(helper) not in found:
                found[id(helper)] = helper
                pending.append(helper)
    return list(found.values())


@kept_by(_key, 16)
def _tiles(module: Module, kernel: Kernel, launches: tuple[LaunchFacts, ...]) -> Tiles:
    return Tiles(module, kernel, launches)


def _globals_of(module: Module) -> Callable[[str], TileFacts]:
    """Facts of module-level names: numbers, and types under another name."""
    constants: Mapping[str, ast.expr] | None = None
    known: dict[str, TileFacts] = {}

    def find(name: str) -> TileFacts:
        nonlocal constants
        if name not in known:
            if constants is None:
                constants = module_constants(module.named_statements)
            node = constants.get(name)
            known[name] = UNKNOWN if node is None else _constant(module, constants, node)
        return known[name]

    return find


def _constant(module: Module, constants: Mapping[str, ast.expr], node: ast.expr) -> TileFacts:
    if isinstance(node, ast.Call) and node.args:
        if module.names.is_call(node, "triton.language.constexpr"):
            node = node.args[0]
        elif not isinstance(node.func, ast.Name):
            return UNKNOWN
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _constant(module, constants, node.operand)
        number = None if inner.constant is None else inner.constant.value
        return constexpr(Constant(-number)) if isinstance(number, int | float) else UNKNOWN
    try:
        value = Evaluator(constants, {}, module.names).value(node)
    except Undecidable:
        return UNKNOWN
    is_plain = value is None or isinstance(value, int | float | str)
    return constexpr(Constant(value)) if is_plain else UNKNOWN


def created_shapes(module: Module, kernel: Kernel) -> Iterator[tuple[ast.Call, Value, Shape]]:
    """Calls of ``arange``, ``zeros`` and ``full`` in a kernel, with the shapes that they give."""
    tiles = tiles_of(module, kernel)
    for node, value in flow_of(module, kernel).values.items():
        creates = value.op == "arange" or (value.op == "call" and value.detail in _CREATIONS)
        shape = tiles.facts_of(value).shape if creates and isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and shape is not None:
            yield node, value, shape
