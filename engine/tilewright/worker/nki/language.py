"""``nki.language``: tensors, ranges, loops, functions of tiles.

The names and arguments are the vendor's. What both packages have is here; ``modules`` leaves out
what a package lacks.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from . import arithmetic, assignments, dtypes, elementwise, functions, products, transfers
from . import launch as launches
from . import loops as loop_turns
from .buffers import Buffer, allocation, hbm, private_hbm, psum, sbuf, shared_hbm
from .indices import DynamicSlice, GridMaker, Index, arange_of
from .instruction import Instruction, is_number
from .launch import running
from .storage import Storage, Write
from .tensors import Tensor

Array = np.ndarray[Any, Any]


class ParDim(int):
    """``nl.par_dim(n)``: the dimension of a shape that runs over partitions."""


def par_dim(n: int) -> ParDim:
    return ParDim(n)


# --- tensors -------------------------------------------------------------------------------------


def ndarray(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **more: Any) -> Tensor:
    """A tensor whose contents are undefined.

    Raises:
        KernelFault: over a limit of the chip.
    """
    return _declared(shape, dtype, buffer, name, None, more)


def zeros(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **more: Any) -> Tensor:
    return _declared(shape, dtype, buffer, name, 0.0, more)


def ones(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **more: Any) -> Tensor:
    return _declared(shape, dtype, buffer, name, 1.0, more)


def full(
    shape: Any, fill_value: Any, dtype: Any, *, buffer: Any = None, name: str = "", **more: Any
) -> Tensor:
    return _declared(shape, dtype, buffer, name, float(fill_value), more)


def zeros_like(a: Any, dtype: Any = None, *, buffer: Any = None, name: str = "") -> Tensor:
    return zeros(a.shape, dtype or a.dtype, buffer=buffer or _like(a), name=name)


def empty_like(a: Any, dtype: Any = None, *, buffer: Any = None, name: str = "") -> Tensor:
    return ndarray(a.shape, dtype or a.dtype, buffer=buffer or _like(a), name=name)


def _like(tile: Any) -> Buffer:
    return {"SBUF": sbuf, "PSUM": psum, "HBM": hbm}[tile.buffer]


_IGNORED: Final = frozenset(("lazy_initialization", "address"))


def _declared(
    shape: Any, dtype: Any, buffer: Any, name: str, fill: float | None, more: dict[str, Any]
) -> Tensor:
    launch = running()
    for unknown in more.keys() - _IGNORED:
        launch.stop("unsupported", f"the simulator does not know the argument {unknown}=")
    where = sbuf if buffer is None else buffer
    if not isinstance(where, Buffer):
        launch.stop(
            "argument", f"buffer= takes nl.sbuf, nl.psum, nl.hbm and the like, not {where!r}"
        )
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    element = arithmetic.dtype_of(launch, dtype, dtypes.float32)
    if fill is not None and where.memory == "HBM":
        launch.stop(
            "argument",
            "a tensor in HBM has no initial value (err_hbm_tensor_with_init_value): declare it "
            "with nl.ndarray and store to it",
        )
    if where.kind == "shared_hbm":
        shared = _shared(extents, element, name)
        if shared is not None:
            return shared
    return allocation(launch, extents, element, where, name, fill, ParDim)


def _shared(extents: tuple[int, ...], dtype: dtypes.DType, name: str) -> Tensor | None:
    """The tensor of an earlier program instance: all of them see the same."""
    launch = running()
    place = launch.shared_place
    launch.shared_place += 1
    if place < len(launch.shared):
        known: Tensor = launch.shared[place]
        if known.shape == tuple(int(n) for n in extents) and known.dtype is dtype:
            return known
        launch.stop("shape", f"program instances declare {known.storage.name} differently")
    made = allocation(launch, extents, dtype, shared_hbm, name, None, ParDim)
    made.storage.declared = launch.turn.chain[0]
    launch.shared.append(made)
    return made


def shared_constant(constant: Any, dtype: Any = None, **more: Any) -> Tensor:
    """A tensor in HBM with contents that are known when the kernel is compiled."""
    launch = running()
    data = np.asarray(constant)
    given = arithmetic.dtype_of(launch, dtype if dtype is not None else data.dtype, dtypes.float32)
    return constant_tensor(data, given, "a shared constant")


def shared_identity_matrix(n: int, dtype: Any = None, **more: Any) -> Tensor:
    return shared_constant(np.identity(n, dtype=np.float32), dtype or dtypes.uint8)


def constant_tensor(data: Array, dtype: dtypes.DType, name: str) -> Tensor:
    """A tensor in HBM that is not written."""
    launch = running()
    storage = Storage(launch, "HBM", dtype, data.size, name, launches.user_line())
    block = storage.block(())
    block.data = np.ascontiguousarray(dtype.cast(data))
    block.writer = block.add_write(Write(launch.turn.chain[0], 0))
    storage.mutable = False
    return Tensor(storage, (), tuple(data.shape))


# --- indices and loops ---------------------------------------------------------------------------


def arange(*bounds: int) -> Index:
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return arange_of(int(start), int(stop), int(step))


mgrid: Final = GridMaker()


def ds(start: Any, size: int) -> DynamicSlice:
    return DynamicSlice(int(start), int(size))


def affine_range(*bounds: Any, **more: Any) -> Iterator[int]:
    return loop_turns.turns("affine", bounds)


def sequential_range(*bounds: Any, **more: Any) -> Iterator[int]:
    return loop_turns.turns("sequential", bounds)


def static_range(*bounds: Any, **more: Any) -> Iterator[int]:
    return loop_turns.turns("static", bounds)


def program_id(axis: int) -> int:
    launch = running()
    if axis >= len(launch.grid):
        return 0
    return launch.program[axis]


def num_programs(axes: Any = None) -> Any:
    grid = running().grid
    if axes is None:
        return math.prod(grid)
    if isinstance(axes, int):
        return grid[axes] if axes < len(grid) else 1
    return tuple(grid[a] if a < len(grid) else 1 for a in axes)


def program_ndim() -> int:
    return len(running().grid)


def loop_reduce(
    x: Any, op: Any, loop_indices: Any, *, dtype: Any = None, mask: Any = None
) -> assignments.LoopReduction:
    """What the turns of loops reduce to: the first turn that runs sets the target.

    Raises:
        KernelFault: an index that is not of a loop that runs.
    """
    launch = running()
    indices = loop_indices if isinstance(loop_indices, (list, tuple)) else [loop_indices]
    active = {turn.loop for turn in launch.turn.chain}
    for index in indices:
        if not isinstance(index, loop_turns.LoopIndex) or index.loop not in active:
            launch.stop(
                "argument",
                f"loop_indices of nl.loop_reduce are those of loops around it: {index!r}",
            )
    name = elementwise.function_name(launch, op, functions.BINARY, "nl.loop_reduce")
    tile = elementwise.copy_tile("nki.language.loop_reduce", x, dtype, mask)
    return assignments.LoopReduction(tile, name, builtins.all(index.is_first for index in indices))


# --- transfers and copies ------------------------------------------------------------------------


def load(src: Any, *, mask: Any = None, dtype: Any = None) -> Tensor:
    return transfers.load(src, dtype, mask)


def store(dst: Any, value: Any = None, *, mask: Any = None) -> None:
    transfers.store(dst, value, mask)


def load_transpose2d(src: Any, *, mask: Any = None, dtype: Any = None) -> Tensor:
    return transfers.load_transpose2d(src, dtype, mask)


def atomic_rmw(dst: Any, value: Any, op: Any, *, mask: Any = None) -> None:
    transfers.atomic_rmw(dst, value, op, mask)


def copy(src: Any, *, mask: Any = None, dtype: Any = None) -> Tensor:
    return elementwise.copy_tile("nki.language.copy", src, dtype, mask)


def static_cast(value: Any, dtype: Any) -> Tensor:
    return elementwise.copy_tile("nki.language.copy", value, dtype)


def broadcast_to(x: Any = None, shape: Any = None, *, src: Any = None, dtype: Any = None) -> Tensor:
    """The older package calls the tile ``src``, the newer one ``x``."""
    result = elementwise.broadcast_to(src if x is None else x, shape)
    return result if dtype is None else elementwise.copy_tile("nki.language.copy", result, dtype)


def expand_dims(data: Any, axis: int) -> Tensor:
    shape = list(data.shape)
    shape.insert(axis + len(shape) + 1 if axis < 0 else axis, 1)
    found = arithmetic.operand(running(), data, "data")
    return arithmetic.new_tile(
        running(), "nki.language.expand_dims", found.data.reshape(shape).copy(), data.dtype,
        None if found.undefined is None else found.undefined.reshape(shape), found.origin,
    )  # fmt: skip


def transpose(x: Any, *, mask: Any = None, dtype: Any = None) -> Tensor:
    return products.nc_transpose(x, dtype=dtype, mask=mask, op="nki.language.transpose")


def matmul(x: Any, y: Any, *, transpose_x: bool = False, mask: Any = None) -> Tensor:
    return products.matmul(x, y, transpose_x, mask)


# --- functions of tiles --------------------------------------------------------------------------


def _binary(name: str) -> Callable[..., Tensor]:
    def function(x: Any, y: Any, *, dtype: Any = None, mask: Any = None) -> Tensor:
        return elementwise.binary(
            f"nki.language.{name}", functions.name_of(function), x, y, dtype, mask
        )

    function.__name__ = function.__qualname__ = name
    return function


def _unary(name: str) -> Callable[..., Tensor]:
    def function(x: Any, *, dtype: Any = None, mask: Any = None) -> Tensor:
        return elementwise.unary(f"nki.language.{name}", name, x, dtype, mask)

    function.__name__ = function.__qualname__ = name
    return function


def _reduction(name: str, fold: str, mean: bool = False) -> Callable[..., Tensor]:
    def function(
        x: Any, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False,
    ) -> Tensor:  # fmt: skip
        return elementwise.reduce_tile(
            f"nki.language.{name}", fold, x, axis, dtype, mask, keepdims=keepdims, mean=mean
        )

    function.__name__ = function.__qualname__ = name
    return function


_INSTRUCTIONS_ALONE: Final = frozenset(
    ("copy", "identity", "rint", "logical_shift_left", "logical_shift_right",
     "arithmetic_shift_left", "arithmetic_shift_right")
)  # fmt: skip
_FUNCTIONS: Final = {
    **{name: _binary(name) for name in (*functions.BINARY, *functions.BITS)},
    **{name: _unary(name) for name in functions.UNARY},
}
globals().update((n, f) for n, f in _FUNCTIONS.items() if n not in _INSTRUCTIONS_ALONE)
_add, _subtract, _multiply, _divide, _exp, _rsqrt, _square = (
    _FUNCTIONS[name] for name in ("add", "subtract", "multiply", "divide", "exp", "rsqrt", "square")
)

sum = _reduction("sum", "add")
prod = _reduction("prod", "multiply")
max = _reduction("max", "maximum")
min = _reduction("min", "minimum")
mean = _reduction("mean", "add", mean=True)
all = _reduction("all", "logical_and")


def var(x: Any, axis: Any, *, dtype: Any = None, mask: Any = None) -> Tensor:
    middle = mean(x, axis, mask=mask, keepdims=True)
    return mean(_square(_subtract(x, middle, mask=mask), mask=mask), axis, dtype=dtype, mask=mask)


def where(condition: Any, x: Any, y: Any, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """``x`` where the condition is not zero, else ``y``."""
    instruction = Instruction("nki.language.where", condition.shape, mask)
    chosen = instruction.read(condition, "condition")
    sides = [None if is_number(v) else instruction.read(v, "a side") for v in (x, y)]
    values = [
        np.float32(v) if found is None else arithmetic.floats(found)
        for v, found in zip((x, y), sides, strict=True)
    ]
    test = chosen.data != 0
    data = np.where(test, *values)
    kinds = [
        elementwise.scalar_dtype(v) if found is None else found.dtype
        for v, found in zip((x, y), sides, strict=True)
    ]
    undefined = _chosen_undefined(test, chosen, sides)
    return instruction.result(data, dtype, dtypes.promote(*kinds), undefined)


def _chosen_undefined(test: Array, chosen: Any, sides: list[Any]) -> tuple[Any, Any]:
    """A choice is undefined where its condition is, or the side that it takes."""
    parts = [chosen.undefined, *(None if s is None else s.undefined for s in sides)]
    if any(p is not None for p in parts):
        first, second = (False if p is None else p for p in parts[1:])
        undefined = np.where(test, first, second)
        if parts[0] is not None:
            undefined = undefined | parts[0]
        if undefined.any():
            origin = next(
                v.origin for v in (chosen, *sides) if v is not None and v.undefined is not None
            )
            return undefined, origin
    return None, None


def softmax(x: Any, axis: Any, *, dtype: Any = None, mask: Any = None) -> Tensor:
    top = max(x, axis, mask=mask, keepdims=True)
    raised = _exp(_subtract(x, top, mask=mask), mask=mask)
    return _divide(raised, sum(raised, axis, mask=mask, keepdims=True), dtype=dtype, mask=mask)


def rms_norm(
    x: Any, w: Any, axis: Any, n: Any, epsilon: float = 1e-6, *, dtype: Any = None, mask: Any = None
) -> Tensor:
    total = sum(_square(x, mask=mask), axis, mask=mask, keepdims=True)
    scaled = _multiply(x, _rsqrt(_add(_divide(total, n), epsilon)), mask=mask)
    return _multiply(scaled, w, dtype=dtype, mask=mask)


class fp32:  # noqa: N801 (the vendor's name)
    min = float(np.finfo(np.float32).min)
    max = float(np.finfo(np.float32).max)


class tile_size:  # noqa: N801 (the vendor's name)
    pmax = 128
    psum_fmax = 512
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512
    bn_stats_fmax = 512
    psum_min_align = 4
    sbuf_min_align = 1
    total_available_sbuf_size = 192 * 1024 - 16 * 1024


CONSTANTS: Final = {
    **{dtype.name: dtype for dtype in dtypes.ALL},
    "bool_": dtypes.bool_,
    "sbuf": sbuf,
    "psum": psum,
    "hbm": hbm,
    "private_hbm": private_hbm,
    "shared_hbm": shared_hbm,
}
