"""Which values of a kernel are sure to be equal, loads included, and which name holds one."""

from bisect import bisect
from collections.abc import Iterable, Iterator
from operator import attrgetter

from tilewright.analysis.values import Access, Definition, Flow, Value, walk

_order = attrgetter("order")
_OWN = frozenset({"opaque", "phi", "after"})
"""Operations whose values equal no others."""


class EqualValues:
    """Numbers values: two with one number are equal where one follows the other.

    Two plain loads of one address are equal unless something may have written between them;
    ``same`` are further pairs that are known to be equal.
    """

    def __init__(self, flow: Flow, same: Iterable[tuple[Value, Value]] = ()) -> None:
        unknown = [order for order, _ in flow.may_write_unknown]
        self._writes = sorted([*(write.order for write in flow.writes), *unknown])
        self._definitions = flow.definitions
        self._loads = {access.result: access for access in flow.loads}
        self._numbers: dict[Value, int] = {}
        self._known: dict[object, int] = {}
        for one, two in same:
            self._numbers[two] = self._number(one)

    def holders(self, value: Value, place: Access | Definition) -> Iterator[str]:
        """Names that hold a value where something is computed, by when they were first set.

        Their last assignment before always runs before it, in the same turn of each loop.
        """
        number = self._number(value)
        for name, definitions in self._definitions.items():
            last = max((d for d in definitions if d.order < place.order), key=_order, default=None)
            if last is None or last.loops != place.loops:
                continue
            always = place.branches[: len(last.branches)] == last.branches
            if always and self._number(last.value) == number:
                yield name

    def _number(self, value: Value) -> int:
        for part in sorted(walk(value), key=_order):
            if part not in self._numbers:
                self._numbers[part] = self._known.setdefault(self._key(part), len(self._known))
        return self._numbers[value]

    def _key(self, value: Value) -> object:
        operands = tuple(self._numbers[part] for part in value.operands)
        if value.op == "load":
            access = self._loads.get(value)
            if access is None or not access.is_plain:
                return value
            return "load", bisect(self._writes, access.order), value.keywords, operands
        if value.op in _OWN:
            return value
        detail = type(value.detail), value.detail
        return value.op, detail, value.keywords, value.varies, operands
