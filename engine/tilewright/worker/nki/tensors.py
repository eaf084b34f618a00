"""Tensors and parts of them, as a kernel's text handles them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from . import launch as launches
from . import storage as memory
from . import subscripts
from .dtypes import DType
from .indices import Index, IndexProblem, Mask, Selection
from .launch import Launch
from .storage import Memory, Place, Storage, Values

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Operator = Callable[..., Any]

# Operators between tiles; ``arithmetic`` fills it.
OPERATORS: Final[dict[str, Operator]] = {}


class Tile:
    """What an instruction takes: a tensor or a part of one.

    Attributes:
        shape: the partition first, where it is a tile.
    """

    __slots__ = ()
    __array_ufunc__ = None  # numpy scalars leave the arithmetic to this class
    storage: Storage
    shape: Shape

    @property
    def dtype(self) -> DType:
        return self.storage.dtype

    @property
    def buffer(self) -> Memory:
        return self.storage.memory

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def __add__(self, other: Any) -> Any:
        return OPERATORS["add"](self, other)

    def __radd__(self, other: Any) -> Any:
        return OPERATORS["add"](other, self)

    def __sub__(self, other: Any) -> Any:
        return OPERATORS["subtract"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return OPERATORS["subtract"](other, self)

    def __mul__(self, other: Any) -> Any:
        return OPERATORS["multiply"](self, other)

    def __rmul__(self, other: Any) -> Any:
        return OPERATORS["multiply"](other, self)

    def __truediv__(self, other: Any) -> Any:
        return OPERATORS["divide"](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return OPERATORS["divide"](other, self)

    def __pow__(self, other: Any) -> Any:
        return OPERATORS["power"](self, other)

    def __neg__(self) -> Any:
        return OPERATORS["multiply"](self, -1.0)

    def __and__(self, other: Any) -> Any:
        return OPERATORS["bitwise_and"](self, other)

    def __or__(self, other: Any) -> Any:
        return OPERATORS["bitwise_or"](self, other)

    def __xor__(self, other: Any) -> Any:
        return OPERATORS["bitwise_xor"](self, other)

    def __lshift__(self, other: Any) -> Any:
        return OPERATORS["left_shift"](self, other)

    def __rshift__(self, other: Any) -> Any:
        return OPERATORS["right_shift"](self, other)

    def __gt__(self, other: Any) -> Any:
        return OPERATORS["greater"](self, other)

    def __ge__(self, other: Any) -> Any:
        return OPERATORS["greater_equal"](self, other)

    def __lt__(self, other: Any) -> Any:
        return OPERATORS["less"](self, other)

    def __le__(self, other: Any) -> Any:
        return OPERATORS["less_equal"](self, other)

    def __eq__(self, other: Any) -> Any:
        return OPERATORS["equal"](self, other)

    def __ne__(self, other: Any) -> Any:
        return OPERATORS["not_equal"](self, other)

    __hash__ = object.__hash__

    def __iadd__(self, other: Any) -> Any:
        return OPERATORS["accumulate"](self, other)

    def __bool__(self) -> bool:
        self.launch.stop(
            "index",
            "a tile has no truth value (err_ambiguous_tensor_truth_value): use nl.where or mask=",
        )

    def __iter__(self) -> NoReturn:
        self.launch.stop("index", "a tile cannot be iterated over: index it in a loop")

    @property
    def launch(self) -> Launch:
        return self.storage.launch

    def part(self) -> Reference:
        """It as a part of its tensor."""
        raise NotImplementedError

    def broadcast_to(self, shape: Any) -> Any:
        return OPERATORS["broadcast_to"](self, shape)

    def astype(self, dtype: Any) -> Any:
        return OPERATORS["copy"](self, dtype=dtype)


class Tensor(Tile):
    """Memory of its own, or a reshaped view of it.

    Attributes:
        outer: extents of the leading dimensions that hold whole tiles.
        inner: extents of one tile; ``outer + inner`` is the shape.
        selection: of the result of an instruction, the elements that its mask let it compute.
        product: the result of a product, which PSUM may accumulate.
    """

    __slots__ = ("inner", "outer", "product", "selection", "shape", "storage", "strides")

    def __init__(self, storage: Storage, outer: Shape, inner: Shape) -> None:
        self.selection: Selection | None = None
        self.product = False
        self.storage = storage
        self.outer = outer
        self.inner = inner
        self.shape = outer + inner
        strides: list[int] = []
        step = 1
        for extent in reversed(inner):
            strides.append(step)
            step *= extent
        self.strides: Shape = tuple(reversed(strides))

    def __repr__(self) -> str:
        return f"{self.storage.name}{list(self.shape)} {self.dtype.name} in {self.buffer}"

    def __getitem__(self, key: Any) -> Reference:
        return Reference(self, _resolved(self, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        OPERATORS["assign"](Reference(self, _resolved(self, key)), value)

    def reshape(self, *shape: Any) -> Tensor:
        """The same memory under another shape; on the chip the partitions stay."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        wanted = tuple(int(n) for n in wanted)
        if -1 in wanted:
            rest = -math.prod(wanted)
            wanted = tuple(math.prod(self.shape) // rest if n == -1 else n for n in wanted)
        if math.prod(wanted) != math.prod(self.shape):
            self.launch.stop("shape", f"{self} cannot be reshaped to {list(wanted)}")
        if self.buffer != "HBM" and (self.outer or wanted[0] != self.inner[0]):
            self.launch.stop("shape", f"reshape of {self} to {list(wanted)} moves its partitions")
        return Tensor(self.storage, (), wanted)

    def ap(self, pattern: Any, offset: Any = 0, **more: Any) -> Reference:
        """A part by steps and counts in elements, the partition first (flavour ``nki``)."""
        for name, value in more.items():
            if value is not None:
                self.launch.stop("unsupported", f"the simulator has no {name}= of .ap")
        pairs = [(int(step), int(count)) for step, count in pattern]
        shape = tuple(count for _, count in pairs)
        steps = tuple(step for step, _ in pairs)
        size = math.prod(self.inner)
        if self.buffer == "HBM":
            flat = Tensor(self.storage, (), (size,))
            dimensions: tuple[subscripts.Dimension, ...] = (
                subscripts.Dimension(int(offset), steps, size),
            )
        else:
            row = self.strides[0]
            if steps[0] != row and shape[0] > 1:
                self.launch.stop(
                    "unsupported",
                    f"the first step of .ap is the {row} elements of a partition here, not "
                    f"{steps[0]}",
                )
            flat = Tensor(self.storage, (), (self.inner[0], row))
            rest = (0,) * (len(shape) - 1)
            dimensions = (
                subscripts.Dimension(int(offset) // row, (1, *rest), self.inner[0]),
                subscripts.Dimension(int(offset) % row, (0, *steps[1:]), row),
            )
        return Reference(flat, subscripts.Subscript((), shape, dimensions, advanced=True))

    def part(self) -> Reference:
        """All of it, as a part."""
        if self.outer and math.prod(self.outer) > 1:
            self.launch.stop(
                "index",
                f"{self} has {len(self.outer)} leading dimension(s) of whole tiles: index them "
                "with whole numbers (err_failed_to_infer_tile_from_local_tensor)",
            )
        return Reference(self, _resolved(self, Ellipsis))


class Reference(Tile):
    """A part of a tensor: which memory a subscript names."""

    __slots__ = ("shape", "storage", "subscript", "tensor")

    def __init__(self, tensor: Tensor, subscript: subscripts.Subscript) -> None:
        self.tensor = tensor
        self.storage = tensor.storage
        self.subscript = subscript
        self.shape = subscript.shape

    def __repr__(self) -> str:
        return f"{self.storage.name}[...] of {list(self.shape)} {self.dtype.name} in {self.buffer}"

    def part(self) -> Reference:
        return self

    def __getitem__(self, key: Any) -> Reference:
        """A part of the part."""
        return Reference(self.tensor, narrowed(self, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        OPERATORS["assign"](self[key], value)

    def reshape(self, *shape: Any) -> Tensor:
        place = self.place(None)
        if not place.whole:
            self.launch.stop(
                "unsupported", f"reshape of a part of {self.storage.name}: reshape the tensor"
            )
        whole = Tensor(self.storage, (), self.tensor.inner)
        if self.subscript.block:
            self.launch.stop("unsupported", "reshape of one tile of a tensor of tiles")
        return whole.reshape(*shape)

    @property
    def start(self) -> int:
        """The first partition."""
        return self.subscript.dimensions[0].const if self.subscript.dimensions else 0

    def place(self, selection: Selection | None) -> Place:
        """The memory, cut to a mask.

        Raises:
            KernelFault: it leaves the tensor.
        """
        box = None if selection is None else selection.box
        outside = self.subscript.outside(box or self.subscript.box)
        if outside is not None:
            self._leaves(outside)
        layout = self.subscript.layout(self.tensor.strides, box)
        return Place(self.storage, self.subscript.block, *layout)

    def inside(self) -> bool:
        return self.subscript.outside(self.subscript.box) is None

    def _leaves(self, outside: tuple[int, int, int, int]) -> NoReturn:
        axis, low, high, size = outside
        what = f"{low}" if low == high else f"{low} to {high}"
        self.launch.stop(
            "out-of-bounds",
            f"index {what} of dimension {axis + len(self.subscript.block)} of {self.tensor}, whose "
            f"size is {size} (err_tensor_access_out_of_bound): a mask keeps it inside",
        )


def _refuse_mask(launch: Launch, key: Any) -> None:
    if isinstance(key, Mask):
        launch.stop("unsupported", "the simulator has no mask as a subscript: use mask=")


def _resolved(tensor: Tensor, key: Any) -> subscripts.Subscript:
    launch = tensor.launch
    _refuse_mask(launch, key)
    try:
        found = subscripts.resolve(_with_gathers(key), tensor.outer, tensor.inner)
    except IndexProblem as problem:
        launch.stop("index", f"{tensor}: {problem}")
    except IndexError as problem:
        launch.stop("out-of-bounds", f"{tensor}: {problem} (err_tensor_access_out_of_bound)")
    if tensor.buffer != "HBM":
        _check_partition(tensor, found)
    return found


def _with_gathers(key: Any) -> Any:
    """A subscript whose tiles are their values."""
    if isinstance(key, tuple) and any(isinstance(entry, Tile) for entry in key):
        return tuple(_gather(entry) if isinstance(entry, Tile) else entry for entry in key)
    return _gather(key) if isinstance(key, Tile) else key


def _gather(tile: Tile) -> subscripts.Gather:
    return subscripts.Gather(values(tile).data.astype(np.int64))


def _check_partition(tensor: Tensor, found: subscripts.Subscript) -> None:
    """On the chip the first axis of a tile runs over partitions, and no other does."""
    if found.gathers:
        return
    first, *rest = found.dimensions
    crossed = any(step for step, n in zip(first.steps[1:], found.shape[1:], strict=True) if n > 1)
    moved = found.shape[0] > 1 and any(d.steps[0] for d in rest)
    if crossed or moved:
        tensor.launch.stop(
            "index",
            f"a tile of {tensor} has its partitions on dimension {len(tensor.outer)} of the tensor "
            "alone, and as its first axis",
        )


def narrowed(part: Reference, key: Any) -> subscripts.Subscript:
    """The subscript of a part of a part.

    Raises:
        KernelFault: the language refuses the subscript.
    """
    _refuse_mask(part.launch, key)
    try:
        inner = subscripts.resolve(key, (), part.shape)
    except IndexProblem as problem:
        part.launch.stop("index", f"{part}: {problem}")
    outside = inner.outside(inner.box)
    if outside is not None:
        axis, low, high, size = outside
        part.launch.stop(
            "out-of-bounds",
            f"index {low} to {high} of axis {axis} of {part}, whose size is {size}",
        )
    rank = len(inner.shape)
    dimensions = []
    for old in part.subscript.dimensions:
        const = old.const
        steps = [0] * rank
        for axis, step in enumerate(old.steps):
            if not step:
                continue
            const += step * inner.dimensions[axis].const
            for place in range(rank):
                steps[place] += step * inner.dimensions[axis].steps[place]
        dimensions.append(subscripts.Dimension(const, tuple(steps), old.size, old.gather))
    return subscripts.Subscript(
        part.subscript.block, inner.shape, tuple(dimensions), inner.advanced
    )


def check_scope(storage: Storage) -> None:
    """A tile lives as long as the loop turn that made it (flavour ``neuronxcc``).

    Raises:
        KernelFault: it is used after that.
    """
    launch = storage.launch
    declared = storage.declared
    if declared is launch.turn or declared.encloses(launch.turn) or storage.memory == "HBM":
        return
    if launch.flavour != "neuronxcc":
        return
    loop = next(
        (
            mine.loop
            for mine, now in zip(declared.chain, (*launch.turn.chain, None), strict=False)
            if mine is not now
        ),
        declared.loop,
    )
    if loop.kind not in ("affine", "sequential"):
        return
    launch.stop(
        "scope",
        f"{storage.name} (line {storage.line}) was made in one iteration of {loop.name} "
        f"(line {loop.line}) and is used outside it (err_local_variable_used_out_of_scope): "
        "declare a tensor before the loop and assign to it with [...]",
    )


def values(tile: Any, selection: Selection | None = None, watched: bool = True) -> Values:
    """A tile as an instruction reads it, whole.

    Args:
        selection: what a mask leaves: elements outside it may lie outside the tensor, and are
            poison then.

    Raises:
        KernelFault: it leaves its tensor, or is used outside its loop turn.
    """
    part: Reference = tile.part()
    storage = part.storage
    check_scope(storage)
    if part.subscript.gathers:
        return _gathered(part, selection)
    if selection is not None and not part.inside():
        return _cut(part, selection, watched)
    data, undefined, origin = memory.read(part.place(None), watched)
    return Values(
        data, undefined, origin, storage.dtype, storage.memory, part.start, storage.number
    )


def _cut(part: Reference, selection: Selection, watched: bool) -> Values:
    storage = part.storage
    data = memory.poison(part.shape, storage.dtype)
    undefined = np.ones(part.shape, dtype=bool)
    origin: tuple[int, str] | None = (launches.user_line(), f"the masked part of {storage.name}")
    if not selection.empty:
        inner, missing, source = memory.read(part.place(selection), watched)
        data[selection.slices] = inner
        undefined[selection.slices] = False if missing is None else missing
        origin = source or origin
    return Values(
        data, undefined, origin, storage.dtype, storage.memory, part.start, storage.number
    )


def _gathered(part: Reference, selection: Selection | None) -> Values:
    """Elements that a tile of indices chooses."""
    flat = gather_offsets(part, selection)
    storage = part.storage
    block = storage.block(part.subscript.block)
    data = storage.materialize(block, storage.size).reshape(-1)[flat]
    undefined = None
    if not isinstance(block.writer, int):
        missing = block.writer[flat] == 0
        undefined = missing if missing.any() else None
    elif block.writer == 0:
        undefined = np.ones(flat.shape, dtype=bool)
    origin = block.origin or (storage.line, storage.name)
    return Values(data, undefined, origin, storage.dtype, storage.memory, 0, storage.number)


def gather_offsets(part: Reference, selection: Selection | None) -> Array:
    """The place of each element of a part whose subscript holds a tile of indices.

    Raises:
        KernelFault: an index leaves the tensor.
    """
    offsets = np.zeros(part.shape, dtype=np.int64)
    chosen = None if selection is None else selection.array(part.shape)
    for dimension, stride in zip(part.subscript.dimensions, part.tensor.strides, strict=True):
        if dimension.gather is not None:
            index = np.broadcast_to(dimension.gather.rows, part.shape)
        else:
            index = np.broadcast_to(
                Index(dimension.const, part.shape, dimension.steps).values(), part.shape
            )
        wrong = (index < 0) | (index >= dimension.size)
        if chosen is not None:
            wrong &= chosen
        if wrong.any():
            part.launch.stop(
                "out-of-bounds",
                f"index {int(index[wrong][0])} of a tile of indices into {part.tensor}, whose size "
                f"is {dimension.size} there",
            )
        offsets += np.clip(index, 0, dimension.size - 1) * stride
    return offsets
