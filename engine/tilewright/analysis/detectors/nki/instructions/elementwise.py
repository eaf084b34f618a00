"""Instructions of the Vector and Scalar engines that fewer or cheaper ones replace."""

import ast

from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    computing,
    dims,
    free_size,
    full_dims,
    is_loop_running,
    nki_detector,
    shown,
    writes_of,
)
from tilewright.analysis.nki import Flow, Index, Memory, View
from tilewright.analysis.nki.affine import Affine
from tilewright.analysis.nki.catalogue import DTYPE_BYTES, FUNCTIONS, ISA, NL, Result
from tilewright.analysis.nki.model import IndexKind
from tilewright.source.model import Module

_FEW = 32
_LONG = 128
_STRIDE_BYTES = 16
_ELEMENTWISE = (Result.SAME, Result.ELEMENTWISE, Result.REDUCE)


@nki_detector("nki_broadcast_tensor_tensor")
def broadcast_tensor_tensor(module: Module, flow: Flow) -> Reports:
    for operation in computing(flow):
        if operation.name != ISA + "tensor_tensor":
            continue
        for name in ("data1", "data2"):
            view = operation.operands.get(name)
            if view is not None and view.broadcast and is_column(flow, view):
                text = (
                    f"{view.storage.name} holds one value for each partition; tensor_scalar "
                    f"takes it as it is and reads one tile, where tensor_tensor reads two."
                )
                yield operation.statement, text


def is_column(flow: Flow, view: View) -> bool:
    """Whether a broadcast view spreads one value of each partition along the free dimension."""
    owner = _spread_view(flow, view)
    sides = flow.numbers(owner.shape if owner is not None else view.storage.shape)
    spread = dims(flow, view)
    if sides is None or spread is None or len(sides) != 2 or view.storage.partition:
        return False
    return sides[1] == 1 and sides[0] == spread[0] is not None and spread[1:] != (1,)


def _spread_view(flow: Flow, view: View) -> View | None:
    """What ``x.broadcast_to(shape)`` or ``nl.broadcast_to(x, shape)`` spreads."""
    node = view.node
    if not isinstance(node, ast.Call):
        return None
    given = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    values = [flow.value(part) for part in (*given, *node.args[:1])]
    return next((value for value in values if isinstance(value, View)), None)


@nki_detector("nki_few_partitions")
def few_partitions(module: Module, flow: Flow) -> Reports:
    for operation in computing(flow):
        function = FUNCTIONS.get(operation.name)
        running = any(is_loop_running(flow, loop) for loop in operation.loops)
        if function is None or function.result not in _ELEMENTWISE or not running:
            continue
        views = [operation.operands[n] for n in function.tiles if n in operation.operands]
        sides = [full_dims(flow, view) for view in views]
        known = [side for side in sides if side is not None]
        if len(known) != len(sides) or not known or "copy" in operation.short:
            continue
        partitions, free = max(s[0] for s in known), max(free_size(s) for s in known)
        if partitions <= _FEW and free >= _LONG and partitions * free >= 4096:
            text = (
                f"{operation.short} works on {partitions} partitions with {free} elements in "
                f"each; the engine has 128 lanes and the time goes by the elements in one."
            )
            yield operation.statement, text


@nki_detector("nki_broadcast_in_loop")
def broadcast_in_loop(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        if operation.name != NL + "broadcast_to" or not operation.loops:
            continue
        loop, view = operation.loops[-1], operation.reads[0]
        if loop in view.storage.loops or not is_loop_running(flow, loop):
            continue
        symbols = {s for i in view.indices or () if i.base is not None for s in i.base.symbols}
        changed = any(loop in w.loops for w in writes_of(flow).get(view.storage, ()))
        if view.indices is None or loop.symbol in symbols or changed or loop.symbol is None:
            continue
        one, many = dims(flow, view), dims(flow, operation.result)
        if one and many and one[0] == 1 and many[0] not in (None, 1):
            text = (
                f"{shown(module, view)} is spread over {many[0]} partitions in every iteration "
                f"over {loop.symbol.name}, each time by a pass of the Tensor engine."
            )
            yield operation.statement, text


@nki_detector("nki_strided_free_access")
def strided_free_access(module: Module, flow: Flow) -> Reports:
    for operation in computing(flow):
        for view in operation.reads:
            stride = _stride(flow, view)
            size = DTYPE_BYTES.get(view.dtype or "", 0)
            if stride is not None and size and stride * size > _STRIDE_BYTES:
                text = (
                    f"Neighbouring elements of {shown(module, view)} are {stride * size} bytes "
                    f"apart in a partition; from a stride of 16 bytes on, the memory feeds an "
                    f"engine at half its rate."
                )
                yield operation.statement, text
                break


def _stride(flow: Flow, view: View) -> int | None:
    """Elements between neighbours along the innermost dimension that is walked."""
    shape = view.storage.shape
    if view.indices is None or shape is None or view.memory is not Memory.SBUF:
        return None
    below, stride = 1, None
    for axis in range(len(shape) - 1, view.storage.partition, -1):
        index = view.indices[axis] if axis < len(view.indices) else None
        step, extent = _walk(flow, index, shape[axis])
        if step is None or extent is None:
            return None
        if extent > 1:
            stride = below * step if extent >= 64 else None
            break
        side = flow.number(shape[axis])
        if side is None:
            return None
        below *= side
    return stride


def _walk(flow: Flow, index: Index | None, side: Affine) -> tuple[int | None, int | None]:
    """Step and extent of the indices of one dimension."""
    if index is None or index.kind is IndexKind.FULL:
        return 1, flow.number(side)
    if index.kind is IndexKind.POINT:
        return 1, 1
    lanes = list(index.lanes)
    if len(lanes) != 1 or index.base is None:
        return None, None
    coefficient = index.base.coefficient(lanes[0])
    return (None if coefficient is None else coefficient.number), flow.number(lanes[0].extent)
