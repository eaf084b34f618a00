"""Value numbering: which loops an instruction's operands depend on, and what repeats another line.

A value is a form (the operations it comes from) over integers (indices, which name loops). Reading
a part of a buffer takes the form of what was written there, with the loops of the writer replaced
by the indices of the reader; so a dimension along which a buffer holds the same again does not tell
its contents apart. What is not followed is a form of its own over all loops around it.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from tilewright.analysis.nki import Affine, Flow, Index, Memory, Operation, Storage, Symbol, View
from tilewright.analysis.nki.affine import SymbolKind
from tilewright.analysis.nki.model import IndexKind, Origin

_RUNS = frozenset({SymbolKind.LOOP, SymbolKind.PROGRAM})
_OUTSIDE = "outside"


@dataclass(frozen=True)
class _Value:
    """A form, by its number, and the integers that fill it."""

    form: int
    integers: tuple[Affine, ...]

    def replaced(self, known: Mapping[Symbol, Affine]) -> "_Value":
        return _Value(self.form, tuple(one.substitute(known) for one in self.integers))


class Repeats:
    """Answers for the operations of one kernel."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._forms: dict[Hashable, int] = {}
        self._values: dict[int, _Value] = {}
        self._first: dict[Hashable, Operation] = {}
        self._repeated: dict[int, Operation] = {}
        self._writers: dict[Storage, list[Operation]] = defaultdict(list)
        for op in flow.operations:
            results = (op.result,) if op.result is not None else ()
            for view in (*op.writes, *results):
                if op.name not in ("nki.language.broadcast_to", "forget"):
                    self._writers[view.storage].append(op)
        for op in flow.operations:
            self._values[id(op)] = self._value(op)
            self._note(op)

    def varying(self, op: Operation) -> frozenset[Symbol]:
        """Symbols of loops and program ids that what it computes depends on."""
        return _runs(self._values[id(op)])

    def repeated(self, op: Operation) -> Operation | None:
        """An earlier operation that computes the same values over the same number of turns."""
        return self._repeated.get(id(op))

    def _note(self, op: Operation) -> None:
        if op.name in ("assign", "call", "forget", "collect", "return") or op.writes:
            return
        value = self._values[id(op)]
        names: dict[Symbol, int] = {}
        key = (value.form, tuple(self._named(one, names) for one in value.integers))
        first = self._first.setdefault(key, op)
        if first is not op:
            self._repeated[id(op)] = first

    def _named(self, value: Affine, names: dict[Symbol, int]) -> Hashable:
        """It with loops by their number of turns and the order in which they occur."""
        terms = []
        for factors, coefficient in sorted(value, key=lambda t: (t[1], repr(t[0]))):
            terms.append((coefficient, tuple(self._symbol(one, names) for one in factors)))
        return tuple(terms)

    def _symbol(self, symbol: Symbol, names: dict[Symbol, int]) -> Hashable:
        extent = None if symbol.extent is None else self._flow.number(symbol.extent)
        if extent is None:
            return symbol.key
        if symbol.kind is SymbolKind.LOOP:
            return "loop", names.setdefault(symbol, len(names)), extent
        # The lanes of a slice are its own, wherever it starts.
        is_slice = isinstance(symbol.key, tuple) and symbol.key[0] == "slice"
        return ("slice", extent) if is_slice else symbol.key

    def _form(self, structure: Hashable) -> int:
        return self._forms.setdefault(structure, len(self._forms))

    def _filled(self, structure: Hashable, integers: tuple[Affine, ...]) -> _Value:
        """A value whose equal integers are one."""
        distinct = tuple(dict.fromkeys(integers))
        places = tuple(distinct.index(one) for one in integers)
        return _Value(self._form((structure, places)), distinct)

    def _value(self, op: Operation) -> _Value:
        if op.name in ("call", "forget") or any(v.indices is None for v in op.writes):
            return self._opaque(op, op)
        if op.name == "assign" and op.source is not None and not op.accumulates:
            return self._values[id(op.source)]
        parts = [self._read(view, op) for view in op.reads]
        given = tuple(sorted((n, repr(v)) for n, v in op.values.items() if n != "mask"))
        masks = op.mask.parts if op.mask is not None else ()
        if masks is None:
            return self._opaque(op, op)
        structure = (
            op.name, given, tuple((part.form, len(part.integers)) for part in parts),
            tuple(part.equality for part in masks), op.accumulates,
            op.order if op.accumulates else None,
        )  # fmt: skip
        integers = [one for part in parts for one in part.integers]
        return self._filled(structure, (*integers, *(part.value for part in masks)))

    def _opaque(self, what: object, op: Operation) -> _Value:
        around = tuple(
            Affine.from_value(loop.symbol) for loop in op.loops if loop.symbol is not None
        )
        programs = tuple(Affine.from_value(symbol) for symbol in self._flow.program.values())
        return self._filled(("opaque", id(what)), around + programs)

    def _read(self, view: View, op: Operation) -> _Value:
        storage = view.storage
        writers = self._writers.get(storage, [])
        if view.indices is None and not view.broadcast:
            return self._opaque(view, op)
        if storage.origin is Origin.PARAMETER and not writers:
            return self._part(("parameter", storage.name), view.indices or ())
        if storage.origin is Origin.CONSTANT:
            return self._part(("constant", id(storage)), view.indices or ())
        if len(writers) != 1 or storage.memory is Memory.HBM or id(writers[0]) not in self._values:
            return self._opaque(storage, op)
        return self._written(writers[0], view, op)

    def _part(self, what: Hashable, indices: tuple[Index, ...]) -> _Value:
        bases = tuple(index.base for index in indices if index.base is not None)
        return self._filled((what, tuple(index.kind for index in indices)), bases)

    def _written(self, writer: Operation, view: View, op: Operation) -> _Value:
        """What a reader finds where one operation has written."""
        places = next((v.indices for v in writer.writes if v.storage is view.storage), ()) or ()
        known: dict[Symbol, Affine] = {}
        rest: list[tuple[Index | None, Index | None]] = []
        read = view.indices or ()
        for axis in range(max(len(places), len(read))):
            there = places[axis] if axis < len(places) else None
            here = read[axis] if axis < len(read) else None
            symbol = there.base.symbol if there is not None and there.base is not None else None
            if (
                there is not None
                and there.kind is IndexKind.POINT
                and symbol is not None
                and symbol.kind in _RUNS
                and here is not None
                and here.base is not None
                and symbol not in known
            ):
                known[symbol] = here.base
            elif there != here:
                rest.append((there, here))
        value = self._values[id(writer)]
        around = {loop.symbol for loop in op.loops}
        for symbol in _runs(value):
            if symbol not in around and symbol not in known and symbol.kind is SymbolKind.LOOP:
                # A loop of the writer's own, which has ended: the reader finds its result.
                known[symbol] = Affine.from_value(
                    Symbol((_OUTSIDE, symbol.extent), SymbolKind.OTHER, symbol.name)
                )
        value = value.replaced(known)
        bases = [
            index.base.substitute(known) if pair[0] is index else index.base
            for pair in rest
            for index in pair
            if index is not None and index.base is not None
        ]
        kinds = tuple(
            tuple(None if index is None else index.kind for index in pair) for pair in rest
        )
        return self._filled(("part", value.form, len(value.integers), kinds),
                            (*value.integers, *bases))  # fmt: skip


def _runs(value: _Value) -> frozenset[Symbol]:
    return frozenset(s for one in value.integers for s in one.symbols if s.kind in _RUNS)
