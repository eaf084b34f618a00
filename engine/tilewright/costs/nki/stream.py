"""The instructions of an NKI kernel, from its text: one record for equal ones, nothing is run.

A loop's body is visited once and counts as often as its loops turn; a mask gives a record for each
shape that it leaves of a tile. Sizes that the text does not fix are unknown, and are named.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from tilewright.analysis.nki import Flow, Memory, Operation, Storage, Symbol, View
from tilewright.analysis.nki.affine import Affine, text
from tilewright.analysis.nki.catalogue import DTYPE_BYTES, ISA, NL
from tilewright.analysis.nki.values import Literal, Named
from tilewright.costs.nki.masks import Turns, masked_shapes
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
_PRODUCTS = frozenset({ISA + "nc_matmul", NL + "matmul", ISA + "nc_transpose", NL + "transpose"})


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
    records = tuple(record for op in flow.operations for record in reader.records(op))
    return Stream(records, tuple(dict.fromkeys(reader.unknown)), tuple(reader.assumed))


class _Reader:
    """Turns operations into records; collects what it cannot tell."""

    def __init__(self, flow: Flow, grid: tuple[int, ...]) -> None:
        self._flow = flow
        self._turns = {
            symbol: grid[axis] for axis, symbol in flow.program.items() if axis < len(grid)
        }
        self._repeats = Repeats(flow)
        self._target = {
            id(op.source): op for op in flow.operations if op.name == "assign" and op.source
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
        writes = target.writes if target is not None and not adds else op.writes
        if op.result is not None and not writes:
            writes = (op.result,)
        yield from self._counted(op, op.name, _tiles(op), writes, target)
        if adds and target is not None:
            result = (op.result,) if op.result is not None else ()
            yield from self._counted(target, NL + "add", (*target.writes, *result), target.writes)

    def _assume(self, op: Operation) -> None:
        self.assumed[
            "both ways of a condition that the text leaves open are counted, with the line "
            f"{op.branches[-1] // 2} among them"
        ] = None

    def _assignment(self, op: Operation) -> Iterator[InstructionRecord]:
        if op.source is not None and id(op.source) in self._target:
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
        target: Operation | None = None,
    ) -> Iterator[InstructionRecord]:
        """The records of one operation, by the shapes that its mask leaves."""
        parts = [self._part(view, op) for view in (*reads, *writes)]
        trips = [self._trip(loop.trip, op) for loop in op.loops]
        known = [part for part in parts if part is not None]
        turns = [trip for trip in trips if trip is not None]
        if len(known) != len(parts) or len(turns) != len(trips):
            return
        read, written = known[: len(reads)], known[len(reads) :]
        base = self._base(op, name, read, written)
        around = Turns(op.loops, tuple(turns), self._turns)
        varying, earlier = self._repeats.varying(op), self._repeats.repeated(op)
        shapes = masked_shapes(op.mask, self._flow, around, varying)
        if shapes is None:
            said = (
                f"the mask in line {op.statement.lineno} is not followed: whole tiles are counted"
            )
            self.assumed[said] = None
            shapes = masked_shapes(None, self._flow, around, varying) or ()
        for shape in shapes:
            partitions, free = shape.left(base["partitions"], base["free"])
            if not shape.count or not partitions or not free:
                continue
            record: InstructionRecord = {
                **base, "count": shape.count, "partitions": partitions, "free": free,
                "distinct": shape.distinct if earlier is None else 0,
                "kept": _kept(around, varying, earlier),
            }  # fmt: skip
            if name in _TRANSFERS:
                record["bytes"] = partitions * free * _element_bytes(read, written)
            if target is not None and target.accumulates:
                record["accumulate"] = True
            yield record

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
            "line": op.statement.lineno,
            "reads": read,
            "writes": written,
            "partitions": max((tile["partitions"] for tile in tiles), default=0),
            "free": max((tile["free"] for tile in tiles), default=0),
        }
        if name in _PRODUCTS and read:
            record.update(_product(name, read, op.values))
            if written:
                record["partitions"] = written[0]["partitions"]
                record["free"] = written[0]["free"]
        return record

    def _part(self, view: View, op: Operation) -> TilePart | None:
        sides = self._flow.numbers(view.shape)
        if sides is None or any(side is None for side in sides):
            shown = view.storage.name
            unknown = [text(s) for s in view.shape or () if self._flow.number(s) is None]
            where = f"line {op.statement.lineno}"
            self.unknown += unknown or [f"the shape of {shown} in {where}"]
            return None
        known = [side for side in sides if side is not None]
        number = self._numbers.setdefault(id(view.storage), len(self._numbers))
        return {
            "tensor": number,
            "memory": _memory(view.storage),
            "dtype": view.dtype or "",
            "partitions": known[0] if known else 1,
            "free": prod(known[1:]),
        }

    def _trip(self, trip: Affine | None, op: Operation) -> int | None:
        number = self._flow.number(trip)
        if number is None:
            shown = "a loop" if trip is None else text(trip)
            self.unknown.append(f"how often {shown} turns in line {op.statement.lineno}")
        return number


def _kept(turns: Turns, varying: frozenset[Symbol], earlier: Operation | None) -> int:
    """Turns of the loops that vary, inside the first loop that only repeats.

    What an earlier operation computed is needed again after the loops that are not around both.
    """
    kept, repeats = 1, False
    for loop, trip in zip(turns.loops, turns.trips, strict=True):
        repeats |= loop.symbol not in varying
        repeats |= earlier is not None and loop not in earlier.loops
        kept *= trip if repeats and loop.symbol in varying else 1
    return kept


def _tiles(op: Operation) -> tuple[View, ...]:
    """The tiles it reads, by parameter; what it only writes is left out."""
    written = {id(view) for view in op.writes}
    return tuple(view for view in op.reads if id(view) not in written)


def _keeps_sum(op: Operation, target: Operation) -> bool:
    """Whether the instruction itself adds to its target: into PSUM, or a ``loop_reduce``."""
    product = op.name in _PRODUCTS and all(v.memory is Memory.PSUM for v in target.writes)
    return product or op.name == NL + "loop_reduce"


def _memory(storage: Storage) -> str:
    if storage.memory is None:
        return "SBUF" if storage.node is not None else ""
    return storage.memory.value


def _engine(values: Mapping[str, object]) -> str:
    given = values.get("engine")
    name = given.dotted.rpartition(".")[2] if isinstance(given, Named) else ""
    engine = name.removesuffix("_engine")
    return engine if engine in ("tensor", "vector", "scalar", "gpsimd") else ""


def _product(name: str, read: list[TilePart], values: Mapping[str, object]) -> InstructionRecord:
    """Extents of a product; a transpose is one with the identity."""
    first = read[0]
    found: InstructionRecord = {}  # type: ignore[typeddict-item]
    if name in (ISA + "nc_transpose", NL + "transpose"):
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


__all__ = ["Stream", "Symbol", "instruction_stream"]
