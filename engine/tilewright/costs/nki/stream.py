"""The instructions of an NKI kernel, from its text: one record for equal ones, nothing is run.

A loop's body is visited once and counts as often as its loops turn; a mask gives a record for each
shape that it leaves of a tile. Sizes that the text does not fix are unknown, and are named.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tilewright.analysis.nki import Flow, Loop, Mask, Memory, Operation, Storage, Symbol, View
from tilewright.analysis.nki.affine import Affine, text
from tilewright.analysis.nki.catalogue import DTYPE_BYTES, ISA, NL
from tilewright.analysis.nki.model import Comparison
from tilewright.analysis.nki.values import Literal, Named
from tilewright.costs.nki.masks import MaskedShape, Turns, masked_shapes
from tilewright.costs.nki.repeats import Repeats
from tilewright.worker.messages.nki import InstructionRecord, TilePart

_NO_INSTRUCTIONS = frozenset(
    {
        *("forget", "collect", "return"),
        *(NL + name for name in ("shared_constant", "shared_identity_matrix", "device_print")),
    }
)
_TRANSFERS = frozenset(
    {
        *(NL + name for name in ("load", "store", "load_transpose2d", "atomic_rmw")),
        *(NL + name for name in ("gather_flattened",)),
        *(ISA + name for name in ("dma_copy", "dma_transpose", "dma_compute")),
    }
)
_MOST_TURNS = 1 << 13
_TRANSPOSES = frozenset({ISA + "nc_transpose", NL + "transpose"})
_PRODUCTS = _TRANSPOSES | {ISA + "nc_matmul", NL + "matmul"}
_VECTOR_TRANSPOSE = 32
"""Rows and columns of the largest tile that the vector engine transposes."""


@dataclass(frozen=True)
class Stream:
    """What a kernel executes.

    Attributes:
        records: in the order of the text; without the operations named in ``unknown``.
        unknown: sizes and calls that the text does not tell, as a person would write them; with one
            of them the records are not all.
        assumed: what was counted although the text leaves it open, as sentences.
    """

    records: tuple[InstructionRecord, ...]
    unknown: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


def instruction_stream(flow: Flow, grid: tuple[int, ...] = ()) -> Stream:
    """The instructions of a kernel, or of a launch (``launched_flow``) with this grid.

    A grid's programs are counted as running one after the other on one core.
    """
    reader = _Reader(flow, grid)
    found = [record for op in flow.operations for record in reader.records(op)]
    return Stream(
        tuple(_joined(found)), tuple(dict.fromkeys(reader.unknown)), tuple(reader.assumed)
    )


def _joined(records: Sequence[InstructionRecord]) -> Iterator[InstructionRecord]:
    """Records that follow each other and differ in their numbers of turns alone, as one."""
    last: InstructionRecord | None = None
    for record in records:
        same = last is not None and {**last, **_NO_TURNS} == {**record, **_NO_TURNS}
        if last is not None and same:
            last["count"] += record["count"]
            last["distinct"] = last.get("distinct", 0) + record.get("distinct", 0)
            last["kept"] = max(last.get("kept", 1), record.get("kept", 1))
            continue
        if last is not None:
            yield last
        last = record
    if last is not None:
        yield last


_NO_TURNS = {"count": 0, "distinct": 0, "kept": 0}


class _Reader:
    """Turns operations into records; collects what it cannot decide."""

    def __init__(self, flow: Flow, grid: tuple[int, ...]) -> None:
        self._flow = flow
        self._turns = {
            symbol: grid[axis] for axis, symbol in flow.program.items() if axis < len(grid)
        }
        self._repeats = Repeats(flow)
        self._target = _targets(flow)
        self._direct = {id(op) for op in self._target.values()}
        self._transposed = {
            op.result.storage
            for op in flow.operations
            if op.name in _TRANSPOSES and op.result is not None
        }
        self._numbers: dict[int, int] = {}
        self.unknown: list[str] = [
            f"the number of programs on axis {axis}" for axis in flow.program if axis >= len(grid)
        ]
        self.assumed: dict[str, None] = {}

    def records(self, op: Operation) -> Iterator[InstructionRecord]:
        if op.name == "call":
            self.unknown.append(f"line {op.statement.lineno} calls what is not followed")
            return
        if op.name in _NO_INSTRUCTIONS or -1 in op.branches:
            return
        if op.branches:
            self._assume(op)
        if op.name == "assign":
            yield from self._assignment(op)
            return
        target = self._target.get(id(op))
        adds = target is not None and target.accumulates and not _keeps_sum(op, target)
        result = (op.result,) if op.result is not None else ()
        made = target.writes if target is not None and not adds else result
        writes = (*made, *op.writes)
        sums = target is not None and target.accumulates and not adds
        yield from self._counted(op, op.name, _tiles(op), writes, accumulates=sums)
        if adds and target is not None:
            yield from self._counted(target, NL + "add", (*target.writes, *result), target.writes)

    def _assume(self, op: Operation) -> None:
        self.assumed[
            "both ways of a condition that the text leaves open are counted, with the line "
            f"{op.branches[-1] // 2} among them"
        ] = None

    def _assignment(self, op: Operation) -> Iterator[InstructionRecord]:
        if id(op) in self._direct:
            return
        value = op.operands.get("value")
        if value is None:
            yield from self._counted(op, ISA + "memset", (), op.writes)
        elif op.accumulates:
            yield from self._counted(op, NL + "add", (*op.writes, value), op.writes)
        else:
            yield from self._counted(op, NL + "copy", (value,), op.writes)

    def _counted(
        self,
        op: Operation,
        name: str,
        reads: tuple[View, ...],
        writes: tuple[View, ...],
        *,
        accumulates: bool = False,
    ) -> Iterator[InstructionRecord]:
        """The records of one operation, by the shapes that its loops and its mask give."""
        around = self._turns_around(op, (*reads, *writes))
        if around is None:
            return
        groups: dict[_Shapes, list[_At]] = {}
        for at in around:
            sides = tuple(self._sides(view, at, op) for view in (*reads, *writes))
            rest = tuple(self._trip(loop, at, op) for loop in op.loops if loop.symbol not in at)
            groups.setdefault((sides, rest), []).append(at)
        for (sides, rest), turns in groups.items():
            known = [side for side in sides if side is not None]
            trips = [trip for trip in rest if trip is not None]
            if len(known) != len(sides) or len(trips) != len(rest):
                continue
            tiles = [
                self._part(view, side) for view, side in zip((*reads, *writes), known, strict=True)
            ]
            base = self._base(op, name, tiles[: len(reads)], tiles[len(reads) :])
            if accumulates:
                base["accumulate"] = True
            yield from self._masked(op, base, turns, tuple(trips))

    def _masked(
        self, op: Operation, base: InstructionRecord, turns: "list[_At]", trips: tuple[int, ...]
    ) -> Iterator[InstructionRecord]:
        """A record for each shape that the mask leaves of a tile; ``turns`` differ in it alone."""
        inner = tuple(loop for loop in op.loops if loop.symbol not in turns[0])
        around = Turns(inner, trips, self._turns)
        varying, earlier = self._repeats.varying(op), self._repeats.repeated(op)
        found: Counter[tuple[int, int]] = Counter()
        distinct: Counter[tuple[int, int]] = Counter()
        for at in turns:
            for shape in self._shapes(op, at, around, varying):
                left = shape.remaining_shape(base["partitions"], base["free"])
                found[left] += shape.count
                distinct[left] += shape.distinct
        kept = _varying_turns(op.loops, self._trips_of(op, turns[0]), varying, earlier)
        for (partitions, free), count in found.items():
            if not count or not partitions or not free:
                continue
            record: InstructionRecord = {
                **base, "count": count, "partitions": partitions, "free": free, "kept": kept,
                "distinct": 0 if earlier is not None else distinct[partitions, free],
            }  # fmt: skip
            if base["op"] in _TRANSFERS:
                size = _element_bytes(base["reads"], base["writes"])
                record["bytes"] = partitions * free * size
            yield record

    def _shapes(
        self, op: Operation, at: "_At", around: Turns, varying: frozenset[Symbol]
    ) -> tuple[MaskedShape, ...]:
        mask = op.mask
        if mask is not None and mask.parts is not None and at:
            parts = (Comparison(p.value.substitute(at), p.equality) for p in mask.parts)
            mask = Mask(tuple(parts))
        shapes = masked_shapes(mask, self._flow, around, varying)
        if shapes is not None:
            return shapes
        line = op.statement.lineno
        self.assumed[f"the mask in line {line} is not followed: whole tiles are counted"] = None
        return masked_shapes(None, self._flow, around, varying) or ()

    def _turns_around(self, op: Operation, views: Sequence[View]) -> "list[_At] | None":
        """The iterations of loops that a shape or an inner loop depends on; one if none does."""
        sizes = [side for view in views for side in view.shape or ()]
        sizes += [loop.trip for loop in op.loops if loop.trip is not None]
        known = self._flow.known
        named = {symbol for size in sizes for symbol in size.substitute(known).symbols}
        turns: list[_At] = [{}]
        for loop in op.loops:
            if loop.symbol is None or loop.symbol not in named:
                continue
            trips = [self._trip(loop, at, op) for at in turns]
            if any(trip is None for trip in trips):
                return None
            if sum(trip or 0 for trip in trips) > _MOST_TURNS:
                self.unknown.append(f"the shapes of {_MOST_TURNS} iterations and more")
                return None
            turns = [
                {**at, loop.symbol: Affine.from_value(turn)}
                for at, trip in zip(turns, trips, strict=True)
                for turn in range(trip or 0)
            ]
        return turns

    def _trips_of(self, op: Operation, at: "_At") -> list[int]:
        return [self._trip(loop, at, op) or 1 for loop in op.loops]

    def _number(self, value: Affine, at: "_At") -> int | None:
        return value.substitute(self._flow.known).substitute(at).number

    def _base(
        self, op: Operation, name: str, read: list[TilePart], written: list[TilePart]
    ) -> InstructionRecord:
        tiles = read + written
        if name in _TRANSFERS and written:
            tiles = written if written[0]["memory"] != "HBM" else read[:1] or written
        record: InstructionRecord = {
            "op": name,
            "engine": _engine(op.values),
            "count": 1,
            "line": op.node.lineno,
            "reads": read,
            "writes": written,
            "partitions": max((tile["partitions"] for tile in tiles), default=0),
            "free": max((tile["free"] for tile in tiles), default=0),
        }
        if name in _PRODUCTS and read:
            record.update(_product(name, read, op.values))
        return record

    def _sides(self, view: View, at: "_At", op: Operation) -> tuple[int, ...] | None:
        where = f"line {op.statement.lineno}"
        if view.shape is None:
            self.unknown.append(f"the shape of {view.storage.name} in {where}")
            return None
        sides = [(side, self._number(side, at)) for side in view.shape]
        self.unknown += [text(side) for side, number in sides if number is None]
        known = tuple(number for _, number in sides if number is not None)
        return known if len(known) == len(sides) else None

    def _part(self, view: View, sides: tuple[int, ...]) -> TilePart:
        return {
            "tensor": self._numbers.setdefault(id(view.storage), len(self._numbers)),
            "memory": self._memory(view.storage, sides),
            "dtype": view.dtype or "",
            "partitions": sides[0] if sides else 1,
            "free": prod(sides[1:]),
        }

    def _memory(self, storage: Storage, sides: tuple[int, ...]) -> str:
        if storage.memory is not None:
            return storage.memory.value
        on_tensor_engine = storage in self._transposed and max(sides) > _VECTOR_TRANSPOSE
        return "PSUM" if on_tensor_engine else "SBUF"

    def _trip(self, loop: Loop, at: "_At", op: Operation) -> int | None:
        number = None if loop.trip is None else self._number(loop.trip, at)
        if number is None:
            shown = "a loop" if loop.trip is None else text(loop.trip)
            self.unknown.append(f"the iterations of {shown} in line {op.statement.lineno}")
        return number


_At = dict[Symbol, Affine]
"""One turn of some loops."""
_Shapes = tuple[tuple[tuple[int, ...] | None, ...], tuple[int | None, ...]]
"""Sides of all tiles, and the trips of the loops that they do not depend on."""


def _varying_turns(
    loops: Sequence[Loop],
    trips: Sequence[int],
    varying: frozenset[Symbol],
    earlier: Operation | None,
) -> int:
    """Turns of the loops that vary, inside the first loop that only repeats.

    What an earlier operation computed is needed again after the loops that are not around both.
    """
    kept, repeats = 1, False
    for loop, trip in zip(loops, trips, strict=True):
        repeats |= loop.symbol not in varying
        repeats |= earlier is not None and loop not in earlier.loops
        kept *= trip if repeats and loop.symbol in varying else 1
    return kept


def _targets(flow: Flow) -> dict[int, Operation]:
    """By instruction, the assignment that its result goes to, which then takes no copy.

    That is an assignment of the call, or the first one of the name that its result was given, in
    the same turn.
    """
    found: dict[int, Operation] = {}
    made = {op.result.storage: op for op in flow.operations if op.result is not None}
    for op in flow.operations:
        if op.name != "assign":
            continue
        value = op.operands.get("value")
        source = op.source
        if source is None and value is not None and value.whole and not op.accumulates:
            source = made.get(value.storage)
            if source is not None and source.loops != op.loops:
                source = None
        if source is not None:
            found.setdefault(id(source), op)
    return found


def _tiles(op: Operation) -> tuple[View, ...]:
    """The tiles it reads, by parameter; what it only writes is left out."""
    written = {id(view) for view in op.writes}
    return tuple(view for view in op.reads if id(view) not in written)


def _keeps_sum(op: Operation, target: Operation) -> bool:
    """Whether the instruction itself adds to its target: into PSUM, or a ``loop_reduce``."""
    product = op.name in _PRODUCTS and all(v.memory is Memory.PSUM for v in target.writes)
    return product or op.name == NL + "loop_reduce"


def _engine(values: Mapping[str, object]) -> str:
    given = values.get("engine")
    name = given.dotted.rpartition(".")[2] if isinstance(given, Named) else ""
    engine = name.removesuffix("_engine")
    return engine if engine in ("tensor", "vector", "scalar", "gpsimd") else ""


def _product(name: str, read: list[TilePart], values: Mapping[str, object]) -> InstructionRecord:
    """Extents of a product; a transpose is one with the identity."""
    first = read[0]
    found: InstructionRecord = {}  # type: ignore[typeddict-item]
    if name in _TRANSPOSES:
        partitions = first["partitions"]
        found.update({"k": partitions, "m": first["free"], "n": partitions, "transpose": True})
        return found
    straight = name == ISA + "nc_matmul" or values.get("transpose_x") == Literal(True)
    sides = (first["partitions"], first["free"])
    found["k"], found["m"] = sides if straight else sides[::-1]
    found["n"] = read[1]["free"] if len(read) > 1 else 0
    if values.get("is_transpose") == Literal(True):
        found["transpose"] = True
    if name == NL + "matmul":
        found["transpose_x"] = straight
    return found


def _element_bytes(read: list[TilePart], written: list[TilePart]) -> int:
    """Of the side in HBM; 4 where its type is not known, which the estimate says."""
    sides = [tile for tile in (*read, *written) if tile["memory"] == "HBM"] or read or written
    named = [tile["dtype"] for tile in (*sides, *read, *written) if tile["dtype"]]
    return DTYPE_BYTES.get(named[0], 4) if named else 4
