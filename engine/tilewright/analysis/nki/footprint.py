"""How long tensors on the chip are needed, and what is alive at once, as the kernel is written.

A type that is not known counts four bytes. A tensor of several blocks takes a place for each block
only where blocks that one loop writes are read after that loop. A tensor that is written before a
loop and read in it is needed until the loop ends.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tilewright.analysis.nki.catalogue import DTYPE_BYTES
from tilewright.analysis.nki.flow import Flow
from tilewright.analysis.nki.model import IndexKind, Loop, Memory, Operation, Storage

_LOADS = frozenset({"nki.language.load", "nki.isa.dma_copy"})


@dataclass(frozen=True)
class Life:
    """A tensor on the chip, from its first write to its last read.

    Attributes:
        start, end: numbers of operations (``Operation.order``).
        size: bytes of a partition, for all blocks that are alive at once.
        partitions: that it takes.
        fills: how often it is filled anew, over the loops around all its uses.
        rereads: how often loops that do not write it read all of it, each time it is filled.
        loaded: it holds what HBM holds too.
        line: of its first write, 1-based.
    """

    storage: Storage
    start: int
    end: int
    size: int
    partitions: int
    fills: int
    rereads: int
    loaded: bool
    line: int


def lives(flow: Flow, memory: Memory) -> tuple[Life, ...]:
    """Every tensor in a memory whose size is known and that is read."""
    writes: dict[Storage, list[Operation]] = defaultdict(list)
    reads: dict[Storage, list[Operation]] = defaultdict(list)
    for op in flow.operations:
        for view in (*op.writes, *((op.result,) if op.result is not None else ())):
            writes[view.storage].append(op)
        if op.name != "forget":
            for view in op.reads:
                reads[view.storage].append(op)
    ends = _loop_ends(flow)
    found = (
        _life(flow, storage, writes[storage], reads[storage], ends)
        for storage in flow.storages
        if storage.memory is memory and writes[storage] and reads[storage]
    )
    return tuple(life for life in found if life is not None)


def peak(alive: Sequence[Life]) -> tuple[int, tuple[Life, ...]]:
    """The most bytes of a partition at one point, and the tensors that take them."""
    best, at = 0, 0
    for one in alive:
        total = sum(life.size for life in alive if life.start <= one.start <= life.end)
        if total > best:
            best, at = total, one.start
    return best, tuple(life for life in alive if life.start <= at <= life.end)


def live_by_line(flow: Flow, alive: Sequence[Life]) -> Mapping[int, int]:
    """Bytes of a partition that are alive at each line with an operation; of several, the most."""
    found: dict[int, int] = defaultdict(int)
    for op in flow.operations:
        total = sum(life.size for life in alive if life.start <= op.order <= life.end)
        found[op.statement.lineno] = max(found[op.statement.lineno], total)
    return found


def _loop_ends(flow: Flow) -> dict[Loop, int]:
    ends: dict[Loop, int] = {}
    for op in flow.operations:
        for loop in op.loops:
            ends[loop] = op.order
    return ends


def _life(
    flow: Flow,
    storage: Storage,
    writes: list[Operation],
    reads: list[Operation],
    ends: dict[Loop, int],
) -> Life | None:
    sides = flow.numbers(storage.shape)
    place = storage.partition
    if sides is None:
        return None
    if all(use.name == "assign" and use.source in writes for use in reads):
        return None  # the tile is made in the place that it is assigned to
    known = [side for side in sides[place:] if side is not None]
    if len(known) != len(sides) - place:
        return None
    first = min(writes, key=lambda op: op.order)
    own = set(first.loops)
    last = max(max([use.order, *_ends_of_other_loops(use, own, ends)]) for use in reads)
    row = prod(known[1:]) * DTYPE_BYTES.get(storage.dtype or "", 4)
    around = [loop for loop in first.loops if all(loop in use.loops for use in reads)]
    return Life(
        storage,
        start=_start(storage, writes, first),
        end=last,
        size=row * _blocks(storage, sides, writes, reads),
        partitions=known[0],
        fills=_trips(flow, around),
        rereads=max(_rereads(flow, storage, use, own) for use in reads),
        loaded=all(_source(op).name in _LOADS for op in writes),
        line=first.statement.lineno,
    )


def _start(storage: Storage, writes: list[Operation], first: Operation) -> int:
    """When it is first needed: a sum that loops carry on is, from the outermost of them."""
    carried = [
        loop.number
        for op in writes
        if op.accumulates
        for loop in op.loops
        if loop not in storage.loops
    ]
    return min([first.order, *carried])


def _source(op: Operation) -> Operation:
    return op.source if op.source is not None else op


def _ends_of_other_loops(use: Operation, own: set[Loop], ends: dict[Loop, int]) -> Iterator[int]:
    """Ends of the loops around a read that are not around the write."""
    return (ends[loop] for loop in use.loops if loop not in own)


def _blocks(
    storage: Storage,
    sides: tuple[int | None, ...],
    writes: list[Operation],
    reads: list[Operation],
) -> int:
    """Blocks that are alive at once: those of loops that end before the last read."""
    count = 1
    for axis in range(storage.partition):
        side = sides[axis]
        loops = {loop for op in writes for loop in _over_axis(op, storage, axis)}
        ended = [loop for loop in loops if any(loop not in use.loops for use in reads)]
        if side is not None and loops and len(ended) == len(loops):
            count *= side
    return count


def _over_axis(op: Operation, storage: Storage, axis: int) -> Iterator[Loop]:
    for view in op.writes:
        if view.storage is not storage or view.indices is None or axis >= len(view.indices):
            continue
        index = view.indices[axis]
        if index.kind is IndexKind.POINT and index.base is not None:
            yield from (loop for loop in op.loops if loop.symbol in index.base.symbols)


def _rereads(flow: Flow, storage: Storage, use: Operation, own: set[Loop]) -> int:
    picked = {
        loop
        for view in use.reads
        if view.storage is storage and view.indices is not None
        for index in view.indices
        if index.base is not None
        for loop in use.loops
        if loop.symbol in index.base.symbols
    }
    return _trips(flow, [loop for loop in use.loops if loop not in own | picked])


def _trips(flow: Flow, loops: Sequence[Loop]) -> int:
    return prod(flow.number(loop.trip) or 1 for loop in loops)
