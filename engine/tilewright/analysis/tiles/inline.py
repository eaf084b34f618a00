"""Results of the file's helpers as values of the kernel that calls them.

The helper's return value is rebuilt in the caller's table with the arguments in place of the
parameters, so that its shape and offsets are in the caller's own terms.
"""

from collections.abc import Mapping
from weakref import ref

from tilewright.analysis.flow import flow_of
from tilewright.analysis.tiles.engine import Subject, Turns
from tilewright.analysis.tiles.parameters import call_of
from tilewright.analysis.values import Called, Flow, Value
from tilewright.source.model import Kernel, Module

_MAX_DEPTH = 8
_MAX_VALUES = 1_200
"""No kernel of flag-gems, liger-kernel and TritonBench needs more than 928. Chains of helpers that
call each other twice double with each level."""
_FIRST_LOOP = 1_000_000
"""Numbers of inlined loops start here, behind those of any kernel."""


class Inliner:
    """Rebuilds what helpers return, once for each call."""

    def __init__(self, module: Module, flow: Flow) -> None:
        self._module = module
        self._flow = flow
        self._subject: ref[Subject] | None = None
        self._results: dict[Value, Value | None] = {}
        self._depth: dict[Value, int] = {}
        self._made = 0
        self._loops = _FIRST_LOOP

    def attach(self, subject: Subject) -> None:
        """Where inlined loops and calls are recorded."""
        self._subject = ref(subject)  # Which holds this object.

    def result(self, value: Value) -> Value | None:
        """What a call returns, in the caller's values; None if it is not a helper's."""
        if value not in self._results:
            self._results[value] = None
            self._results[value] = self._inline(value)
        return self._results[value]

    def _inline(self, value: Value) -> Value | None:
        subject = None if self._subject is None else self._subject()
        depth = self._depth.get(value, 0)
        if subject is None or depth >= _MAX_DEPTH or self._made > _MAX_VALUES:
            return None
        name, positional, keywords = call_of(
            Flow(sources=subject.sources) if value.op == "opaque" else self._flow, value
        )
        helper = self._module.kernel(name) if name is not None else None
        if helper is None:
            return None
        flow = flow_of(self._module, helper)
        if flow.result is None:
            return None
        bound = _bind(helper, positional, keywords, self._flow)
        if bound is None:
            return None
        return _Copy(self, subject, flow, bound, depth + 1).copy_of(flow.result)

    def count(self, value: Value, depth: int) -> None:
        """Note a value made by inlining."""
        self._made += 1
        self._depth[value] = depth

    def new_loop(self) -> int:
        self._loops += 1
        return self._loops


class _Copy:
    """One copy of a helper's values, with arguments for parameters."""

    def __init__(
        self,
        inliner: Inliner,
        subject: Subject,
        flow: Flow,
        bound: Mapping[str, Value],
        depth: int,
    ) -> None:
        self._inliner = inliner
        self._subject = subject
        self._flow = flow
        self._bound = bound
        self._depth = depth
        self._table = subject.flow.table
        self._site = inliner.new_loop()
        self._copies: dict[Value, Value] = {}
        self._loops: dict[int, int] = {}
        self._pending: list[Value] = []

    def copy_of(self, root: Value) -> Value:
        """The copy of a value; back edges follow when all else is there."""
        copied = self._copy(root)
        while self._pending:
            phi = self._pending.pop()
            end = self._flow.back_edges.get(phi)
            if end is not None:
                self._subject.back_edges[self._copies[phi]] = self._copy(end)
        return copied

    def _copy(self, root: Value) -> Value:
        stack = [root]
        while stack:
            value = stack[-1]
            if value in self._copies:
                stack.pop()
                continue
            missing = [v for v in value.operands if v not in self._copies]
            if missing:
                stack.extend(missing)
                continue
            self._copies[value] = self._new_copy(value)
            stack.pop()
        return self._copies[root]

    def _new_copy(self, value: Value) -> Value:
        operands = tuple(self._copies[v] for v in value.operands)
        if value.op == "param":
            bound = self._bound.get(str(value.detail))
            return self._table.opaque() if bound is None else bound
        copied = self._special(value, operands)
        if copied is None:
            copied = self._table.make(
                value.op, *operands, detail=value.detail, keywords=value.keywords
            )
        self._inliner.count(copied, self._depth)
        return copied

    def _special(self, value: Value, operands: tuple[Value, ...]) -> Value | None:
        match value.op:
            case "opaque":
                return self._opaque(value, operands)
            case "load":
                detail = f"{self._site}.{value.detail}"
                return self._table.make("load", *operands, detail=detail, keywords=value.keywords)
            case "loop_index":
                loop = self._loop(int(str(value.detail)))
                return self._table.make(
                    "loop_index", *operands, detail=loop, varies=frozenset({loop})
                )
            case "phi" | "after":
                return self._carried(value, operands)
        return None

    def _opaque(self, value: Value, operands: tuple[Value, ...]) -> Value:
        copied = self._table.opaque(*operands)
        source = self._flow.sources.get(value)
        if source is not None:
            positional = tuple(self._copy(v) for v in source.positional)
            keywords = tuple((k, self._copy(v)) for k, v in source.keywords)
            self._subject.sources[copied] = Called(
                source.name, source.is_method, positional, keywords
            )
        if value in self._flow.undefined:
            self._subject.undefined.add(copied)
        return copied

    def _carried(self, value: Value, operands: tuple[Value, ...]) -> Value:
        number, _, name = str(value.detail).partition(":")
        loop = self._loop(int(number))
        detail = f"{loop}:{name}"
        if value.op == "phi":
            self._pending.append(value)
            return self._table.make("phi", *operands, detail=detail, varies=frozenset({loop}))
        outer = frozenset[int]().union(*(o.varies for o in operands)) - {loop}
        return self._table.fresh("after", operands, detail, outer)

    def _loop(self, number: int) -> int:
        known = self._loops.get(number)
        if known is None:
            known = self._loops[number] = self._inliner.new_loop()
            turns = Turns.from_loop(self._flow.loops[number], self._flow)
            bounds = None
            if turns.bounds is not None:
                start, stop, step = (self._copy(v) for v in turns.bounds)
                bounds = (start, stop, step)
            self._subject.turns[known] = Turns(bounds, turns.is_static, None)
        return known


def _bind(
    helper: Kernel,
    positional: tuple[Value, ...],
    keywords: Mapping[str, Value],
    flow: Flow,
) -> dict[str, Value] | None:
    """Arguments by parameter, defaults where the call gives none."""
    names = [p.name for p in helper.parameters]
    if len(positional) > len(names):
        return None
    bound = dict(zip(names, positional, strict=False))
    bound.update(keywords)
    for parameter in helper.parameters:
        if parameter.name not in bound and parameter.default is not None:
            literal = _LITERALS.get(parameter.default)
            if literal is not None:
                bound[parameter.name] = flow.table.make("const", detail=literal[0])
            elif parameter.default.isdigit():
                bound[parameter.name] = flow.table.make("const", detail=int(parameter.default))
    return bound


_LITERALS: dict[str, tuple[bool | None]] = {"True": (True,), "False": (False,), "None": (None,)}
