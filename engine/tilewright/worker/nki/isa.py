"""``neuronxcc.nki.isa``: instructions that return the tile that they make."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from . import (
    arithmetic,
    dtypes,
    elementwise,
    functions,
    products,
    scalar_engine,
    transfers,
    vector_engine,
)
from .indices import Index, Mask
from .instruction import Engine
from .launch import running
from .tensors import Tensor

Array = np.ndarray[Any, Any]


tensor_engine: Final = Engine("tensor")
vector_engine_token: Final = Engine("vector")
scalar_engine_token: Final = Engine("scalar")
gpsimd_engine: Final = Engine("gpsimd")
unknown_engine: Final = Engine("")
reduce_cmd: Final = SimpleNamespace(
    idle="idle",
    reset="reset",
    reduce="reduce",
    reset_reduce="reset_reduce",
    load_reduce="load_reduce",
)
nc_version: Final = SimpleNamespace(gen2=2, gen3=3, gen4=4)


bn_aggr = vector_engine.bn_aggr
bn_stats = vector_engine.bn_stats
max8 = vector_engine.max8
memset = vector_engine.memset
scalar_tensor_tensor = vector_engine.scalar_tensor_tensor
tensor_partition_reduce = vector_engine.tensor_partition_reduce
tensor_scalar_reduce = vector_engine.tensor_scalar_reduce
tensor_tensor = elementwise.tensor_tensor
tensor_tensor_scan = vector_engine.tensor_tensor_scan


def get_nc_version() -> int:
    return running().settings.limits.generation


def nc_matmul(
    stationary: Any,
    moving: Any,
    *,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    tile_position: Any = (),
    tile_size: Any = (),
    mask: Any = None,
) -> Tensor:
    return products.nc_matmul(stationary, moving, mask, is_transpose)


def nc_transpose(
    data: Any,
    *,
    mask: Any = None,
    dtype: Any = None,
    engine: Any = unknown_engine,
) -> Tensor:
    return products.nc_transpose(data, engine, dtype, mask)


def activation(
    op: Any,
    data: Any,
    *,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: str = "idle",
    mask: Any = None,
    dtype: Any = None,
) -> Tensor:
    return scalar_engine.activation(
        op, data, bias, scale, reduce_op, reduce_res, reduce_cmd, dtype, mask
    )


def activation_reduce(
    op: Any,
    data: Any,
    *,
    reduce_op: Any,
    reduce_res: Any,
    bias: Any = None,
    scale: Any = 1.0,
    mask: Any = None,
    dtype: Any = None,
) -> Tensor:
    return scalar_engine.activation(
        op, data, bias, scale, reduce_op, reduce_res, scalar_engine.RESET_REDUCE, dtype, mask,
        "nki.isa.activation_reduce",
    )  # fmt: skip


def tensor_scalar(
    data: Any,
    op0: Any,
    operand0: Any,
    reverse0: bool = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
    engine: Any = unknown_engine,
) -> Tensor:
    steps = [(op0, operand0, reverse0), (op1, operand1, reverse1)]
    return elementwise.tensor_scalar(data, steps, dtype, mask, engine)


def tensor_reduce(
    op: Any,
    data: Any,
    axis: Any,
    *,
    mask: Any = None,
    dtype: Any = None,
    negate: bool = False,
    keepdims: bool = False,
) -> Tensor:
    name = elementwise.function_name(running(), op, functions.REDUCTIONS, "nisa.tensor_reduce")
    return elementwise.reduce_tile(
        "nki.isa.tensor_reduce", name, data, axis, dtype, mask, negate, keepdims
    )


def tensor_copy(
    src: Any,
    *,
    mask: Any = None,
    dtype: Any = None,
    engine: Any = unknown_engine,
) -> Tensor:
    return elementwise.copy_tile("nki.isa.tensor_copy", src, dtype, mask, engine)


def tensor_copy_predicated(
    *, src: Any, dst: Any, predicate: Any, reverse_pred: bool = False, mask: Any = None,
    dtype: Any = None,
) -> None:  # fmt: skip
    vector_engine.tensor_copy_predicated(src, dst, predicate, reverse_pred, mask)


def reciprocal(data: Any, *, dtype: Any = None, mask: Any = None) -> Tensor:
    return elementwise.unary("nki.isa.reciprocal", "reciprocal", data, dtype, mask)


def iota(expr: Any, dtype: Any, *, mask: Any = None) -> Tensor:
    launch = running()
    if not isinstance(expr, Index):
        launch.stop("argument", "nisa.iota takes an index expression")
    return vector_engine.constant_tile(
        "nki.isa.iota", expr.values(), arithmetic.dtype_of(launch, dtype, dtypes.int32), mask
    )


def affine_select(
    pred: Any, on_true_tile: Any, on_false_value: Any, *, mask: Any = None, dtype: Any = None,
) -> Tensor:  # fmt: skip
    launch = running()
    if not isinstance(pred, Mask):
        launch.stop("argument", "nisa.affine_select takes a comparison of index expressions")
    chosen = arithmetic.selection_of(launch, pred, on_true_tile.shape)
    kept = np.ones(on_true_tile.shape, bool) if chosen is None else chosen.array(on_true_tile.shape)
    return vector_engine.select_by(
        "nki.isa.affine_select", kept, on_true_tile, on_false_value, dtype, mask
    )


def dma_copy(
    *, dst: Any, src: Any, mask: Any = None, dst_rmw_op: Any = None, oob_mode: Any = None,
    dge_mode: Any = None,
) -> None:  # fmt: skip
    del dge_mode  # how descriptors are made changes no value
    if oob_mode not in (None, 0):
        running().stop("unsupported", "the simulator has no oob_mode of nisa.dma_copy")
    added = dst_rmw_op is not None
    if added and functions.name_of(dst_rmw_op) != "add":
        running().stop("unsupported", "nisa.dma_copy accumulates with np.add alone")
    transfers.dma_copy(dst, src, mask, added)
