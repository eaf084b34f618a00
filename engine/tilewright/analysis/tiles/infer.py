"""Tile inference over a kernel's flow: facts of each value, computed once."""

import ast
from functools import lru_cache

from tilewright.analysis.bases import pointer_base
from tilewright.analysis.dtypes import dtype_of, element_types
from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.shapes import shape_of
from tilewright.analysis.tiles.model import Kind, TileFacts
from tilewright.analysis.values import Flow, Value
from tilewright.source.model import Kernel, Module

_NOTHING = TileFacts(Kind.UNKNOWN)


class Tiles:
    """What inference says of one kernel's values."""

    def __init__(self, module: Module, kernel: Kernel, context: AnalysisContext) -> None:
        self._flow: Flow = flow_of(module, kernel)
        self._types = element_types(context, kernel.name)
        self._constexprs = frozenset(kernel.constexprs)
        self._pointers = {a.base for a in self._flow.accesses if a.base is not None}
        self._known: dict[Value, TileFacts] = {}

    def of(self, value: Value) -> TileFacts:
        """What is known of a value of this kernel's flow."""
        if value not in self._known:
            self._known[value] = self._infer(value)
        return self._known[value]

    def at(self, node: ast.expr) -> TileFacts:
        """What is known of an expression of this kernel."""
        value = self._flow.values.get(node)
        return _NOTHING if value is None else self.of(value)

    def _infer(self, value: Value) -> TileFacts:
        shape = shape_of(value)
        base = pointer_base(value)
        if value.op == "const" or (value.op == "param" and value.detail in self._constexprs):
            return TileFacts(Kind.CONSTEXPR, (), dtype_of(value, self._types))
        if base in self._pointers and value.op != "load":
            return TileFacts(Kind.POINTER, shape, self._types.get(base or ""), base=base)
        kind = Kind.UNKNOWN if shape is None else Kind.TILE if shape else Kind.SCALAR
        if value.op in ("compare", "bool"):
            return TileFacts(Kind.MASK, shape, "i1")
        return TileFacts(kind, shape, dtype_of(value, self._types))


class _Subject:
    """A kernel with what is known of its launches, equal by node and launches."""

    __slots__ = ("context", "kernel", "key", "module")

    def __init__(self, module: Module, kernel: Kernel, context: AnalysisContext) -> None:
        self.module, self.kernel, self.context = module, kernel, context
        launches = tuple(x for x in context.launches if x.kernel == kernel.name)
        self.key = (id(kernel.node), tuple(map(id, launches)))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Subject) and other.key == self.key


def tiles_of(module: Module, kernel: Kernel, context: AnalysisContext | None = None) -> Tiles:
    """The tiles of a kernel, given what the context says of its launches."""
    return _tiles(_Subject(module, kernel, context or AnalysisContext()))


@lru_cache(maxsize=512)
def _tiles(subject: _Subject) -> Tiles:
    return Tiles(subject.module, subject.kernel, subject.context)
