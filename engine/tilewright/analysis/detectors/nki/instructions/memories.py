"""Tensors in a memory that an instruction cannot reach, or that are no tile yet."""

from collections.abc import Iterator

from tilewright.analysis.detectors.nki.kernels import (
    MOVES,
    NOT_INSTRUCTIONS,
    Reports,
    computing,
    is_tensor,
    is_top_level,
    nki_detector,
    older,
    shown,
)
from tilewright.analysis.nki import Flow, Memory, Operation, View
from tilewright.analysis.nki.catalogue import ISA, NL
from tilewright.analysis.nki.model import IndexKind, Origin
from tilewright.analysis.nki.values import Named
from tilewright.source.model import Module

_TWO_TILES = {
    ISA + "tensor_tensor": ("data1", "data2"),
    ISA + "tensor_tensor_scan": ("data0", "data1"),
}


@nki_detector("nki_wrong_memory")
def wrong_memory(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        text = _moved(module, operation) or _matrix(module, flow, operation)
        text = text or _from_hbm(module, flow, operation) or _psum(operation)
        if text is not None:
            yield operation.statement, text


def _moved(module: Module, operation: Operation) -> str | None:
    if operation.name == NL + "load":
        view = operation.operands.get("src")
        if view is not None and view.storage.on_chip:
            return (
                f"{shown(module, view)} is in {view.memory} already; nl.load reads HBM, "
                f"nl.copy copies tiles."
            )
    if operation.name == NL + "store":
        view = operation.operands.get("dst")
        if view is not None and view.storage.on_chip:
            return (
                f"{shown(module, view)} is in {view.memory}; nl.store writes to HBM, and a tile "
                f"is assigned to."
            )
    return None


def _matrix(module: Module, flow: Flow, operation: Operation) -> str | None:
    if operation.name != ISA + "nc_matmul":
        return None
    for name in ("stationary", "moving"):
        view = operation.operands.get(name)
        if view is not None and (view.memory is Memory.PSUM or _surely_hbm(flow, view)):
            return (
                f"The {name} operand {shown(module, view)} is in {view.memory}, and the Tensor "
                f"engine reads its operands from SBUF."
            )
    target = operation.operands.get("dst")
    if target is not None and target.memory in (Memory.SBUF, Memory.HBM):
        return (
            f"dst {shown(module, target)} is in {target.memory}, and the Tensor engine writes "
            f"to PSUM only."
        )
    return None


def _surely_hbm(flow: Flow, view: View) -> bool:
    if view.memory is not Memory.HBM or view.storage.origin is Origin.CONSTANT:
        return False
    if view.storage.origin is Origin.PARAMETER:
        return is_top_level(flow) and is_tensor(view)
    return True


def _from_hbm(module: Module, flow: Flow, operation: Operation) -> str | None:
    if operation.name in NOT_INSTRUCTIONS | MOVES or operation.operator:
        return None
    if not operation.name.startswith(ISA):
        return None
    for view in operation.reads:
        if _surely_hbm(flow, view):
            return (
                f"{shown(module, view)} is in HBM, and engines compute on tiles in SBUF or PSUM: "
                f"load it first."
            )
    return None


def _psum(operation: Operation) -> str | None:
    pair = [operation.operands.get(name) for name in _TWO_TILES.get(operation.name, ())]
    if pair and all(view is not None and view.memory is Memory.PSUM for view in pair):
        return "Both operands are in PSUM, which the Vector engine reads through one port."
    engine = operation.values.get("engine")
    views = (*operation.reads, *operation.writes)
    if not isinstance(engine, Named) or "gpsimd" not in engine.dotted.rpartition(".")[2]:
        return None
    if any(view.memory is Memory.PSUM for view in views) and operation.name.startswith(ISA):
        return "engine asks for GpSimd, which cannot reach the operand in PSUM."
    return None


@nki_detector("nki_block_dimension_unindexed", older)
def block_dimension_unindexed(module: Module, flow: Flow) -> Reports:
    for operation in (*computing(flow), *_stores(flow)):
        for view in operation.operands.values():
            if view.blocks and view.storage.on_chip and view.indices is not None:
                text = (
                    f"{shown(module, view)} still has {view.blocks} dimension(s) before its "
                    f"partition; an instruction takes one tile, so index them first."
                )
                yield operation.statement, text
                break


def _stores(flow: Flow) -> Iterator[Operation]:
    return (operation for operation in flow.operations if operation.name == NL + "store")


@nki_detector("nki_missing_index", older)
def missing_index(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        for view in {*operation.reads, *operation.writes}:
            if _lacks(view):
                text = (
                    f"{shown(module, view)} leaves out {view.missing} of the dimensions of "
                    f"{view.storage.name}; with index arrays every dimension needs an index, "
                    f"such as 0."
                )
                yield operation.statement, text


def _lacks(view: View) -> bool:
    if not view.missing or view.indices is None or not view.storage.on_chip:
        return False
    return any(index.kind is IndexKind.ARRAY for index in view.indices)
