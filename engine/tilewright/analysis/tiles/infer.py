"""Tile inference over a kernel's flow: facts of each value, computed once."""

import ast
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.per_kernel import kept_by
from tilewright.analysis.tiles.engine import UNKNOWN, Engine, Subject, constexpr
from tilewright.analysis.tiles.inline import Inliner
from tilewright.analysis.tiles.model import Constant, Shape, TileFacts
from tilewright.analysis.tiles.operations import TRANSFERS
from tilewright.analysis.tiles.parameters import parameter_facts
from tilewright.analysis.tiles.programs import Programs
from tilewright.analysis.values import Value
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.model import Kernel, Module
from tilewright.source.parse import module_constants
from tilewright.targets.model import LaunchFacts

_CREATIONS = ("triton.language.zeros", "triton.language.full")


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

    def of(self, value: Value) -> TileFacts:
        """What is known of a value of this kernel's flow."""
        known = self._known.get(value)
        return self._infer(value) if known is None else known

    def _infer(self, value: Value) -> TileFacts:
        with self._lock:
            facts = self._engine.of(value)
            axes = self._programs.of(value)
            known = facts if axes is None else replace(facts, programs=axes)
            self._known[value] = known
        return known

    def assigned(self, statement: ast.stmt, name: str) -> TileFacts:
        """What is known of a name behind the statement that assigns it."""
        for definition in self._flow.definitions.get(name, ()):
            if definition.statement is statement:
                with self._lock:
                    return self._variables.named(name, self.of(definition.value))
        return UNKNOWN

    def at(self, node: ast.expr) -> TileFacts:
        """What is known of an expression of this kernel."""
        value = self._flow.values.get(node)
        if value is None:
            return UNKNOWN
        with self._lock:
            return self._variables.seen(node, self.of(value))


def tiles_of(module: Module, kernel: Kernel, context: AnalysisContext | None = None) -> Tiles:
    """The tiles of a kernel, given what the context says of its launches."""
    launches = context.launches if context is not None else ()
    return _tiles(module, kernel, tuple(x for x in launches if x.kernel == kernel.name))


def _key(module: Module, kernel: Kernel, launches: tuple[LaunchFacts, ...]) -> Hashable:
    return module.tree, kernel.node, tuple(map(id, launches))


@kept_by(_key, 256)
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
                constants = module_constants(module.tree)
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
        shape = tiles.of(value).shape if creates and isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and shape is not None:
            yield node, value, shape
