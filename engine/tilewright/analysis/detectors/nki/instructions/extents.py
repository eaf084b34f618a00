"""Tiles that are larger than the hardware: partitions, matrix operands, dimensions."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import finding_at
from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    computing,
    dims,
    free_size,
    full_dims,
    interpreted,
    nki_detector,
    shown,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nki import Flow, Operation, Storage, View
from tilewright.analysis.nki.catalogue import ISA, NL
from tilewright.analysis.nki.model import IndexKind, Origin
from tilewright.source.model import Module

PARTITIONS = 128
STATIONARY_FREE = 128
MOVING_FREE = 512
MOST_DIMENSIONS = 5
_LOADS = (NL + "load", NL + "rand", ISA + "memset")
_TRANSPOSES = (ISA + "nc_transpose", NL + "transpose")


@nki_detector("nki_partition_too_large")
def partition_too_large(module: Module, flow: Flow) -> Reports:
    for storage in flow.storages:
        count = _partitions(flow, storage)
        if count is None or count <= PARTITIONS or not _is_first(flow, storage):
            continue
        text = (
            f"This tile of {storage.name} has {count} partitions, and {storage.memory} has "
            f"{PARTITIONS}: it does not compile."
        )
        if isinstance(storage.node, ast.expr):
            yield storage.node, text


def _partitions(flow: Flow, storage: Storage) -> int | None:
    if not storage.on_chip or storage.shape is None or storage.node is None:
        return None
    if len(storage.shape) <= storage.partition or len(storage.shape) < 2:
        return None
    return flow.number(storage.shape[storage.partition])


def _is_first(flow: Flow, storage: Storage) -> bool:
    """Created or loaded so: what is computed from a tile that is too large follows from it."""
    if storage.origin is Origin.CREATED:
        return True
    return any(
        operation.result is not None
        and operation.result.storage is storage
        and operation.name in _LOADS
        for operation in flow.operations
    )


@detector("nki_matmul_tile_too_large")
def matmul_tile_too_large(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    if context.target is not None and context.target.arch.startswith("trn3"):
        return
    for kernel, flow in interpreted(module):
        for operation in computing(flow):
            text = _too_large(module, flow, operation)
            if text is not None:
                yield finding_at(module, kernel, operation.statement, text)


def _too_large(module: Module, flow: Flow, operation: Operation) -> str | None:
    if operation.name == ISA + "nc_matmul" and "perf_mode" not in operation.given:
        stationary = _free(flow, operation.operands.get("stationary"))
        moving = _free(flow, operation.operands.get("moving"))
        return _limits(module, operation, "stationary", stationary, "moving", moving)
    if operation.name == NL + "matmul" and operation.given.get("transpose_x") is not None:
        x, y = (_free(flow, operation.operands.get(name)) for name in ("x", "y"))
        return _limits(module, operation, "x", x, "y", y)
    if operation.name in _TRANSPOSES:
        view = operation.operands.get("data", operation.operands.get("x"))
        size = _free(flow, view)
        if view is not None and size is not None and size > STATIONARY_FREE:
            return (
                f"{shown(module, view)} has {size} elements in each partition, and one transpose "
                f"takes at most {STATIONARY_FREE}, as they become partitions."
            )
    return None


def _limits(
    module: Module,
    operation: Operation,
    left: str,
    stationary: int | None,
    right: str,
    moving: int | None,
) -> str | None:
    if stationary is not None and stationary > STATIONARY_FREE:
        return (
            f"The {left} operand has {stationary} columns, and the Tensor engine holds "
            f"{STATIONARY_FREE} at a time: one instruction cannot take it."
        )
    if moving is not None and moving > MOVING_FREE:
        return (
            f"The {right} operand has {moving} columns, and the result of one matmul is at most "
            f"{MOVING_FREE} fp32 wide, one PSUM bank of 2 KiB in each partition."
        )
    return None


def _free(flow: Flow, view: View | None) -> int | None:
    sides = full_dims(flow, view)
    if view is None or sides is None or len(sides) != 2 or view.blocks:
        return None
    return free_size(sides)


@nki_detector("nki_too_many_dimensions")
def too_many_dimensions(module: Module, flow: Flow) -> Reports:
    for operation in computing(flow):
        isa = operation.name.startswith(ISA)
        wide = [v for v in operation.operands.values() if _rank(flow, v) > MOST_DIMENSIONS]
        if wide and isa:
            yield operation.statement, _dimensions(module, flow, wide[0])


def _rank(flow: Flow, view: View) -> int:
    sides = dims(flow, view)
    if sides is None or not view.storage.on_chip or view.indices is None:
        return 0
    if any(index.kind is IndexKind.ARRAY for index in view.indices):
        return 0
    return sum(side is not None and side > 1 for side in sides[view.blocks :])


def _dimensions(module: Module, flow: Flow, view: View) -> str:
    return (
        f"{shown(module, view)} has {_rank(flow, view)} dimensions, and an instruction addresses "
        f"at most {MOST_DIMENSIONS}: the partition and four of a lane's memory."
    )
