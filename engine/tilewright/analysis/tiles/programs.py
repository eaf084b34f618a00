"""Over which grid axes a value may differ: reachability of program ids."""

from collections.abc import Mapping

from tilewright.analysis.expressions import PURE_BUILTINS
from tilewright.analysis.tiles.engine import Engine, Subject, branches, loop_number
from tilewright.analysis.tiles.model import Kind
from tilewright.analysis.tiles.parameters import written
from tilewright.analysis.values import Value

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

    def of(self, value: Value) -> Axes:
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
                condition = self._engine.of(value.operands[0])
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
        facts = self._engine.of(address)
        if facts.kind is Kind.UNKNOWN or facts.base is None:
            return False
        return self._is_read_only and facts.base not in self._written
