"""Tensors in HBM, SBUF and PSUM: blocks allocated at the first write, and who wrote each element.

A tensor of ``(b0, b1, par_dim(128), 512)`` has one block for each ``(b0, b1)``; only blocks that a
kernel wrote take memory. Each block knows the write that made each element: none is memory that was
never initialized, and two of different turns of one affine loop depend on the order of its turns.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from . import launch as launches
from .dtypes import DType
from .launch import Launch, Loop, Turn

Array = np.ndarray[Any, Any]
Memory = Literal["HBM", "SBUF", "PSUM"]
Shape = tuple[int, ...]

SENTINEL: Final = 0x5A
_MOST_SHORT: Final = int(np.iinfo(np.uint16).max)
_NEVER: Final = 0  # the number of the write of an element that no write reached


class Write:
    """One write to a block.

    Attributes:
        accumulates: it adds to what was there, as do others whose order is free.
        carried: loops in different turns of which parts of the sum were added.
    """

    __slots__ = ("accumulates", "carried", "line", "turn")

    def __init__(self, turn: Turn, line: int, accumulates: bool = False) -> None:
        self.turn = turn
        self.line = line
        self.accumulates = accumulates
        self.carried: tuple[Loop, ...] = ()


class Block:
    """The memory of one tile, as one row of elements.

    Attributes:
        born, last: the clock of the launch at its first and its last use.
        width: bytes of a partition.
        data: None until the first write.
        writer: the number in ``writes`` of the write that made all elements, or of each.
        shared: another block has the same ``data``: a write copies it first.
        origin: where undefined elements that were copied here come from.
        freed: dropped at the end of a loop turn because the text does not use it again.
    """

    __slots__ = (
        "born", "data", "freed", "last", "launch", "memory", "origin", "seen", "shared", "size",
        "width", "writer", "writes",
    )  # fmt: skip

    def __init__(self, launch: Launch, memory: Memory, size: int) -> None:
        self.launch = launch
        self.memory = memory
        self.size = size
        self.data: Array | None = None
        self.writer: int | Array = _NEVER
        self.writes: list[Write | None] = [None]
        self.shared = False
        self.origin: tuple[int, str] | None = None
        self.freed = False
        self.width = 0
        self.born = self.last = 0
        self.seen: dict[Any, tuple[int, ...]] = {}

    def account(self, amount: int) -> None:
        """Notes the bytes of a partition that the block takes from its first use to its last."""
        if self.width and self.last > self.born:
            self.launch.lifetimes[self.memory].append((self.born, self.last, self.width))
        self.width = 0 if self.memory == "HBM" else amount
        self.born = self.last = self.launch.clock

    def use(self) -> None:
        self.launch.clock = self.last = self.launch.clock + 1

    def __del__(self) -> None:
        self.account(0)

    def add_write(self, write: Write) -> int:
        self.writes.append(write)
        return len(self.writes) - 1

    def own_data(self) -> Array:
        """The data, of its own."""
        assert self.data is not None
        if self.shared:
            self.data = self.data.copy()
            self.shared = False
        return self.data

    def writer_array(self) -> Array:
        """The number of the write of each element, in as few bytes as the numbers take."""
        if isinstance(self.writer, int):
            few = np.zeros(self.size, dtype=np.uint16)  # no page is touched before a write
            if self.writer:
                few[:] = self.writer
            self.writer = few
        if self.writer.dtype == np.uint16 and len(self.writes) > _MOST_SHORT:
            self.writer = self.writer.astype(np.uint32)
        return self.writer


class Storage:
    """What a tensor and its reshaped views share.

    Attributes:
        fill: the value of elements before the first write; None where they are undefined.
        mutable: False for arguments.
        declared: the turn of the loops in which it was made.
        fresh: the result of an instruction that has not been assigned yet.
    """

    __slots__ = (
        "blocks", "declared", "dtype", "fill", "fresh", "launch", "line", "memory", "mutable",
        "name", "number", "shared_output", "size",
    )  # fmt: skip

    def __init__(
        self, launch: Launch, memory: Memory, dtype: DType, size: int, name: str, line: int
    ) -> None:
        self.launch = launch
        self.memory = memory
        self.dtype = dtype
        self.size = size
        self.name = name
        self.line = line
        self.declared = launch.turn
        self.fill: float | None = None
        self.mutable = True
        self.fresh = False
        self.shared_output = False
        self.blocks: dict[Shape, Block] = {}
        self.number = launch.number((name, line))

    def block(self, key: Shape) -> Block:
        found = self.blocks.get(key)
        if found is None:
            found = self.blocks[key] = Block(self.launch, self.memory, self.size)
            if self.fill is not None:
                found.writer = found.add_write(Write(self.declared, self.line, accumulates=True))
            if key and self.line in self.launch.freeable:
                self.launch.turn.touched.append((self, key))
        return found

    def materialize(self, block: Block, per_partition: int) -> Array:
        """The data of a block, allocated with its fill or with poison."""
        if block.data is None:
            if block.freed and block.writer != _NEVER:
                raise FreedBlockRead
            block.data = self._initial()
            block.account(per_partition)
        return block.data

    def _initial(self) -> Array:
        storage = self.dtype.storage
        if self.fill is not None:
            filled: Array = np.zeros(self.size, storage)
            if self.fill:
                filled[:] = self.dtype.cast(np.asarray(self.fill, dtype=np.float32))
            return filled
        if not self.launch.settings.poison:
            return np.zeros(self.size, storage)
        return poison(self.size, self.dtype)


class FreedBlockRead(Exception):  # noqa: N818
    """A block was read after it was dropped: the launch runs again and drops none."""


def poison(shape: Any, dtype: DType) -> Array:
    """Contents of memory that was never written: NaN, and a sentinel in integers."""
    if dtype.kind == "f":
        return np.full(shape, np.nan, dtype=dtype.storage)
    if dtype.kind == "b":
        return np.ones(shape, dtype=dtype.storage)
    raw = np.full(dtype.storage.itemsize, SENTINEL, dtype=np.uint8).view(dtype.storage)[0]
    return np.full(shape, raw, dtype=dtype.storage)


class Values:
    """A tile as an instruction reads it.

    Attributes:
        data: of the shape of the tile; a view of the memory where possible.
        undefined: True where an element was never written; None where all were.
        origin: line and name of the memory that was never written.
        start: first partition.
    """

    __slots__ = ("data", "dtype", "memory", "number", "origin", "start", "undefined")

    def __init__(
        self,
        data: Array,
        undefined: Array | None,
        origin: tuple[int, str] | None,
        dtype: DType,
        memory: Memory,
        start: int = 0,
        number: int = 0,
    ) -> None:
        self.data = data
        self.undefined = undefined
        self.origin = origin
        self.dtype = dtype
        self.memory = memory
        self.start = start
        self.number = number


class Place:
    """A strided part of one block, in elements."""

    __slots__ = ("block", "offset", "shape", "steps", "storage")

    def __init__(
        self, storage: Storage, block: Shape, offset: int, shape: Shape, steps: Shape
    ) -> None:
        self.storage = storage
        self.block = block
        self.offset = offset
        self.shape = shape
        self.steps = steps

    def view(self, flat: Array) -> Array:
        width = flat.itemsize
        return np.ndarray(
            self.shape,
            flat.dtype,
            flat,
            self.offset * width,
            tuple(s * width for s in self.steps),
        )

    @property
    def whole(self) -> bool:
        """Whether it is all elements of the block, in order."""
        if self.offset:
            return False
        expected = 1
        for extent, step in zip(reversed(self.shape), reversed(self.steps), strict=True):
            if extent != 1 and step != expected:
                return False
            expected *= extent
        return expected == self.storage.size

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.offset, self.shape, self.steps)

    @property
    def per_partition(self) -> int:
        """Bytes of one partition of the whole block."""
        storage = self.storage
        step = self.steps[0] if self.steps and self.steps[0] > 0 else storage.size
        return min(step, storage.size) * storage.dtype.itemsize


def read(place: Place, watched: bool = True) -> tuple[Array, Array | None, tuple[int, str] | None]:
    """(elements, True where undefined, where undefined elements come from).

    Args:
        watched: report elements that another turn of an affine loop wrote.
    """
    storage = place.storage
    block = storage.block(place.block)
    data = place.view(storage.materialize(block, place.per_partition))
    block.use()
    if isinstance(block.writer, int):
        found: tuple[int, ...] = (block.writer,)
    else:
        found = _writers(place, block)
    if watched:
        for number in found:
            write = block.writes[number]
            if write is not None:
                _watch_read(storage, write)
    if _NEVER not in found:
        return data, None, None
    origin = block.origin or (storage.line, storage.name)
    if isinstance(block.writer, int):
        return data, np.ones(place.shape, dtype=bool), origin
    return data, place.view(block.writer) == _NEVER, origin


def never_written(place: Place) -> tuple[int, tuple[int, ...]] | None:
    """(how many elements of a place no write reached, the first of them); None where all were."""
    block = place.storage.block(place.block)
    if isinstance(block.writer, int):
        if block.writer != _NEVER:
            return None
        return int(np.prod(place.shape)), (0,) * len(place.shape)
    view = place.view(block.writer)
    if view.size and view.min() > _NEVER:
        return None
    missing = view == _NEVER
    first = np.unravel_index(int(missing.argmax()), missing.shape)
    return int(missing.sum()), tuple(int(i) for i in first)


def _writers(place: Place, block: Block) -> tuple[int, ...]:
    """The numbers of the writes that made the elements of a place; kept until the next write."""
    found = block.seen.get(place.key)
    if found is None:
        view = place.view(block.writer_array())
        first = int(view.flat[0]) if view.size else 0
        same = bool((view == first).all())
        found = (first,) if same else tuple(int(n) for n in np.unique(view))
        block.seen[place.key] = found
    return found


def _watch_read(storage: Storage, write: Write) -> None:
    launch = storage.launch
    if write.turn is launch.turn and not write.carried:
        return
    loop = separate(write.turn, launch.turn)
    if loop is None:
        loop = next((c for c in write.carried if any(t.loop is c for t in launch.turn.chain)), None)
        if loop is None:
            return
        what = (
            f"reads {storage.name}, to which other iterations of {loop.name} (line {loop.line}) "
            f"still add (line {write.line}): read it after the loop"
        )
    else:
        what = (
            f"reads {storage.name} as another iteration of {loop.name} (line {loop.line}) wrote it "
            f"(line {write.line}): its iterations have no order"
        )
    _report_order(launch, loop, what)


def separate(first: Turn, second: Turn) -> Loop | None:
    """The loop without order in different turns of which two places lie."""
    loop = launches.separating_loop(first, second)
    return loop if loop is not None and loop.unordered else None


def _report_order(launch: Launch, loop: Loop, what: str) -> None:
    if loop.kind == "program":
        launch.report("program-order", what)
    else:
        launch.report("loop-order", f"{what}; nl.sequential_range keeps them in order")


def write(
    place: Place,
    data: Array,
    undefined: Array | None,
    origin: tuple[int, str] | None,
    chosen: Array | None = None,
    accumulates: bool = False,
) -> None:
    """Writes elements of the type of the tensor to a place.

    Args:
        data: broadcast to the place; already rounded.
        undefined: elements that were never initialized, which stay so.
        chosen: elements to write; None for all.
        accumulates: ``data`` is the sum with what was there.
    """
    storage = place.storage
    block = storage.block(place.block)
    number = block.add_write(_watched_write(place, block, accumulates, chosen))
    whole = chosen is None and place.whole
    if whole and block.data is None:
        block.data = np.empty(storage.size, storage.dtype.storage)
        block.account(place.per_partition)
    else:
        storage.materialize(block, place.per_partition)
    block.use()
    view = place.view(block.own_data())
    if chosen is None:
        view[...] = data
    else:
        np.copyto(view, data, where=chosen)
    _note_writer(place, block, number, undefined, chosen, whole)
    if undefined is not None:
        block.origin = origin


def adopt(place: Place, source: Block, accumulates: bool = False) -> bool:
    """Gives a block the data of a tile that fills it, without a copy; False where it cannot."""
    if source.data is None or not place.whole:
        return False
    if not isinstance(source.writer, int) or source.writer != 1:
        return False
    if source.data.dtype != place.storage.dtype.storage or not source.data.flags.c_contiguous:
        return False
    block = place.storage.block(place.block)
    number = block.add_write(_watched_write(place, block, accumulates, None))
    block.data = source.data
    source.shared = block.shared = True
    source.width = 0  # the tile never was apart from its target
    block.account(place.per_partition)
    block.use()
    _note_writer(place, block, number, None, None, whole=True)
    return True


def _note_writer(
    place: Place,
    block: Block,
    number: int,
    undefined: Array | None,
    chosen: Array | None,
    whole: bool,
) -> None:
    block.freed = False
    if block.seen:
        block.seen.clear()
    if whole and undefined is None:
        block.writer = 1
        block.writes[1:] = [block.writes[number]]
        return
    view = place.view(block.writer_array())
    value: Any = number if undefined is None else np.where(undefined, _NEVER, number)
    if chosen is None:
        view[...] = value
    else:
        np.copyto(view, np.asarray(value, dtype=view.dtype), where=chosen)


def _watched_write(place: Place, block: Block, accumulates: bool, chosen: Array | None) -> Write:
    """The write that happens now; reports one to what another turn of an affine loop wrote."""
    storage = place.storage
    launch = storage.launch
    now = Write(launch.turn, launches.user_line(), accumulates)
    if isinstance(block.writer, int):
        found: tuple[int, ...] = (block.writer,)
    elif chosen is None:
        found = _writers(place, block)
    else:
        found = tuple(int(n) for n in np.unique(place.view(block.writer)[chosen]))
    for number in found:
        before = block.writes[number]
        if before is not None:
            _watch_overwrite(storage, before, now)
    return now


def _watch_overwrite(storage: Storage, before: Write, now: Write) -> None:
    loop = separate(before.turn, now.turn)
    if now.accumulates and before.accumulates:
        carried = before.carried
        if loop is not None and loop not in carried:
            carried = (*carried, loop)
        now.carried = carried
        return
    launch = storage.launch
    if loop is None or (
        # Kernels of the newer package reuse a tile in each turn, which its releases accept.
        launch.flavour == "nki" and storage.memory != "HBM" and loop.kind == "affine"
    ):
        return
    what = (
        f"writes elements of {storage.name} that another iteration of {loop.name} (line "
        f"{loop.line}) wrote (line {before.line}): its iterations have no order "
        "(err_unexpected_output_dependencies)"
    )
    _report_order(launch, loop, what)


def free_touched(turn: Turn, lines: frozenset[int]) -> None:
    """Drops the data of blocks that one loop turn used, of tensors declared at ``lines``."""
    for storage, key in turn.touched:
        if storage.line not in lines:
            continue
        block = storage.blocks.get(key)
        if block is not None and block.data is not None:
            block.data = None
            block.shared = False
            block.account(0)
            block.freed = True
