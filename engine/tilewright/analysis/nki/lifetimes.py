"""How long tensors on the chip hold something that is still read, and the bytes they take."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tilewright.analysis.nki.catalogue import DTYPE_BYTES
from tilewright.analysis.nki.flow import Flow
from tilewright.analysis.nki.model import IndexKind, Loop, Memory, Operation, Storage


@dataclass(frozen=True)
class Life:
    """A tensor from its first write to its last read.

    Attributes:
        first, last: orders of operations.
        size: bytes of a partition.
    """

    storage: Storage
    first: int
    last: int
    size: int


def lifetimes(flow: Flow, memory: Memory) -> tuple[Life, ...]:
    """The lives of tensors whose size is known, in the order of their first write."""
    table = _Uses.of(flow)
    found = (_life(flow, table, storage) for storage in flow.storages if storage.memory is memory)
    return tuple(sorted((life for life in found if life is not None), key=lambda life: life.first))


def peak(lives: Sequence[Life]) -> tuple[int, tuple[Life, ...]]:
    """The most bytes of a partition that are live at one point, and what they belong to."""
    best: tuple[Life, ...] = ()
    most = 0
    for at in lives:
        live = tuple(life for life in lives if life.first <= at.first <= life.last)
        total = sum(life.size for life in live)
        if total > most:
            most, best = total, live
    return most, best


def live_by_line(flow: Flow, lives: Sequence[Life]) -> Mapping[int, int]:
    """Bytes of a partition that are live at each line with an operation; of several, the most."""
    found: dict[int, int] = defaultdict(int)
    for operation in flow.operations:
        line = operation.statement.lineno
        total = sum(life.size for life in lives if life.first <= operation.order <= life.last)
        found[line] = max(found[line], total)
    return found


@dataclass(frozen=True)
class _Uses:
    """Operations that read, write and make each tensor."""

    reads: Mapping[Storage, list[Operation]]
    writes: Mapping[Storage, list[Operation]]
    made: Mapping[Storage, Operation]

    @staticmethod
    def of(flow: Flow) -> "_Uses":
        reads: dict[Storage, list[Operation]] = defaultdict(list)
        writes: dict[Storage, list[Operation]] = defaultdict(list)
        made: dict[Storage, Operation] = {}
        for operation in flow.operations:
            for view in operation.reads:
                reads[view.storage].append(operation)
            for view in operation.writes:
                writes[view.storage].append(operation)
            result = operation.result
            if result is not None and operation.name != "nki.language.broadcast_to":
                made[result.storage] = operation
        return _Uses(reads, writes, made)


def _life(flow: Flow, table: _Uses, storage: Storage) -> Life | None:
    """From the first write to the last read, and the bytes of a partition it takes for sure."""
    if storage.shape is None or storage.dtype is None:
        return None
    sides = flow.numbers(storage.shape[storage.partition + 1 :])
    known = [side for side in sides or () if side is not None]
    if len(known) != len(storage.shape) - storage.partition - 1:
        return None
    uses, made = table.reads.get(storage, []), table.made.get(storage)
    writes = [*table.writes.get(storage, []), *([made] if made is not None else [])]
    if not uses or not writes or all(use.name == "assign" and use.source is made for use in uses):
        return None
    size = prod(known) * DTYPE_BYTES[storage.dtype] * _blocks(flow, storage, writes, uses)
    first = min(write.order for write in writes)
    return Life(storage, first, max(use.order for use in uses), size)


def _blocks(
    flow: Flow, storage: Storage, writes: Sequence[Operation], uses: Sequence[Operation]
) -> int:
    """Block instances that are live at once: those of loops left between writing and reading."""
    count = 1
    for axis in range(storage.partition):
        side = flow.number(storage.shape[axis]) if storage.shape is not None else None
        loops = {loop for write in writes for loop in _over_axis(write, storage, axis)}
        left = [loop for loop in loops if any(loop not in use.loops for use in uses)]
        if side is not None and loops and len(left) == len(loops):
            count *= side
    return count


def _over_axis(write: Operation, storage: Storage, axis: int) -> Iterator[Loop]:
    for view in write.writes:
        if view.storage is not storage or view.indices is None or axis >= len(view.indices):
            continue
        index = view.indices[axis]
        if index.kind is IndexKind.POINT and index.base is not None:
            yield from (loop for loop in write.loops if loop.symbol in index.base.symbols)
