"""Work of the Tensor engine that another layout, type or accumulation saves."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.nki.instructions.extents import MOVING_FREE, PARTITIONS
from tilewright.analysis.detectors.nki.instructions.traffic import loads
from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    computing,
    full_dims,
    interpreted,
    is_loop_running,
    nki_detector,
    producer,
    reads_of,
    see,
    shown,
    writes_of,
)
from tilewright.analysis.detectors.registry import kernel_detector
from tilewright.analysis.nki import Flow, Loop, Memory, Operation, Storage, View
from tilewright.analysis.nki.catalogue import ISA, NL
from tilewright.analysis.nki.model import Origin
from tilewright.analysis.nki.values import Literal, Named
from tilewright.source.model import Kernel, Module

_MATMULS = (ISA + "nc_matmul", NL + "matmul")
_TRANSPOSES = (ISA + "nc_transpose", NL + "transpose")
_COPIES = (NL + "copy", ISA + "tensor_copy")
_PASSED_ON = (*_COPIES, "assign", ISA + "tensor_scalar", ISA + "activation", NL + "multiply")
_LEAST_SHARE = 0.25


def products(flow: Flow) -> Iterator[Operation]:
    """Matrix products, without those that only transpose."""
    for operation in computing(flow):
        if operation.name in _MATMULS and not _is_transpose(operation):
            yield operation


def _is_transpose(operation: Operation) -> bool:
    flag = operation.given.get("is_transpose")
    if operation.name in _TRANSPOSES:
        return True
    return flag is not None and not (isinstance(flag, ast.Constant) and flag.value is False)


@kernel_detector("nki_fp32_matmul", interpreted)
def fp32_matmul(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    wide = [operation for operation in products(flow) if _is_wide(operation)]
    if wide:
        text = (
            f"Both operands are float32, which the Tensor engine multiplies in four passes "
            f"({len(wide)} such matmul(s) in {kernel.name}); bfloat16 takes one."
        )
        places = [p for o in wide[1:4] for p in see(module, "also in float32", o.node)]
        yield wide[0].statement, text, places


def _is_wide(operation: Operation) -> bool:
    names = ("stationary", "moving") if operation.short == "nc_matmul" else ("x", "y")
    views = [operation.operands.get(name) for name in names]
    return all(view is not None and view.dtype == "float32" for view in views)


@nki_detector("nki_matmul_needs_transpose")
def matmul_needs_transpose(module: Module, flow: Flow) -> Reports:
    for operation in products(flow):
        view = operation.operands.get("x")
        if operation.name != NL + "matmul" or view is None or not _as_written(operation):
            continue
        if _loaded(flow, view) and _uses(flow, view.storage) == 1:
            text = (
                f"nl.matmul transposes {shown(module, view)} on the Tensor engine first and "
                f"copies it back from PSUM; {view.storage.name} is only loaded for this, so "
                f"it can be loaded transposed and passed with transpose_x=True."
            )
            yield operation.statement, text


def _as_written(operation: Operation) -> bool:
    return operation.values.get("transpose_x", Literal(False)) == Literal(False)


def _loaded(flow: Flow, view: View) -> bool:
    made = producer(flow, view)
    return made is not None and made.name in (NL + "load", ISA + "dma_copy")


def _uses(flow: Flow, storage: Storage) -> int:
    return len(reads_of(flow).get(storage, ()))


@nki_detector("nki_small_matmul_tile")
def small_matmul_tile(module: Module, flow: Flow) -> Reports:
    for operation in products(flow):
        if operation.name != ISA + "nc_matmul" or "tile_size" in operation.given:
            continue
        if not any(is_loop_running(flow, loop) for loop in operation.loops):
            continue
        one = full_dims(flow, operation.operands.get("stationary"))
        two = full_dims(flow, operation.operands.get("moving"))
        if one is None or two is None or len(one) != 2 or len(two) != 2:
            continue
        contraction, rows, columns = one[0], one[1], two[1]
        if contraction == 1:
            continue
        share = contraction * rows * min(columns, MOVING_FREE)
        share_of_peak = share / (PARTITIONS * PARTITIONS * max(columns, 64))
        if share_of_peak < _LEAST_SHARE:
            text = (
                f"This matmul contracts {contraction} rows for {rows} columns by {columns}, "
                f"which keeps {share_of_peak:.0%} of the 128 by 128 array busy while it runs."
            )
            yield operation.statement, text


@nki_detector("nki_psum_accumulation_missed")
def psum_accumulation_missed(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        target = sum_target(flow, operation)
        loop = operation.loops[-1] if operation.loops else None
        if target is None or loop is None or loop in target.storage.loops:
            continue
        if _only_summed(flow, target.storage, operation, loop):
            text = (
                f"Each iteration copies a product out of PSUM and adds it to "
                f"{target.storage.name} in SBUF; accumulated in PSUM over the loop it is "
                f"added by the Tensor engine and copied once."
            )
            yield operation.statement, text


def sum_target(flow: Flow, operation: Operation) -> View | None:
    """The SBUF tile that a product is added to, if that is what an operation does."""
    if operation.name == "assign":
        target, value = operation.operands["dst"], operation.operands.get("value")
        added = operation.accumulates and value is not None and is_product(flow, value, operation)
        return target if added and target.memory is Memory.SBUF else None
    if operation.name != ISA + "tensor_tensor" or "dst" not in operation.operands:
        return None
    target = operation.operands["dst"]
    op = operation.values.get("op")
    if not isinstance(op, Named) or not op.dotted.endswith(".add"):
        return None
    one, two = operation.operands.get("data1"), operation.operands.get("data2")
    if one is None or two is None or target.memory is not Memory.SBUF:
        return None
    for old, new in ((one, two), (two, one)):
        if old.storage is target.storage and old.indices == target.indices:
            return target if is_product(flow, new, operation) else None
    return None


def is_product(flow: Flow, view: View, operation: Operation) -> bool:
    """Whether a tile is the result of a matmul in the same iteration, or a copy of one."""
    made = producer(flow, view)
    if made is not None and made.name in _COPIES:
        source = made.operands.get("src")
        made = producer(flow, source) if source is not None else None
    if made is None or made.name not in _MATMULS or _is_transpose(made):
        return False
    return made.loops == operation.loops


def _only_summed(flow: Flow, storage: Storage, operation: Operation, loop: Loop) -> bool:
    inside = [
        other
        for other in (*reads_of(flow).get(storage, ()), *writes_of(flow).get(storage, ()))
        if loop in other.loops
    ]
    return all(other is operation or other.name == "forget" for other in inside)


@nki_detector("nki_repeated_transpose")
def repeated_transpose(module: Module, flow: Flow) -> Reports:
    for operation, view in _transposed(flow):
        loop = operation.loops[-1] if operation.loops else None
        if loop is None or loop.symbol is None or not is_loop_running(flow, loop):
            continue
        if view.indices is None or operation.branches or loop in view.storage.loops:
            continue
        symbols = {s for i in view.indices if i.base is not None for s in i.base.symbols}
        if loop.symbol in symbols or _written_in(flow, view.storage, loop):
            continue
        text = (
            f"{shown(module, view)} does not change in the loop over {loop.symbol.name}, which "
            f"transposes it again in every iteration."
        )
        yield operation.statement, text


def _transposed(flow: Flow) -> Iterator[tuple[Operation, View]]:
    for operation in computing(flow):
        if _is_transpose(operation):
            for name in ("data", "x", "stationary"):
                if name in operation.operands:
                    yield operation, operation.operands[name]
                    break


def _written_in(flow: Flow, storage: Storage, loop: Loop) -> bool:
    return any(loop in write.loops for write in writes_of(flow).get(storage, ()))


@nki_detector("nki_transpose_of_load")
def transpose_of_load(module: Module, flow: Flow) -> Reports:
    sources = {id(operation): source for operation, source in loads(flow)}
    for operation, view in _transposed(flow):
        made = producer(flow, view)
        source = sources.get(id(made))
        if source is None or source.storage.origin is not Origin.PARAMETER:
            continue
        if _uses(flow, view.storage) == 1 and _feeds_product(flow, operation):
            text = (
                f"{shown(module, view)} is loaded only to be transposed on the chip; if "
                f"{source.storage.name} came in the other layout there would be no "
                f"transpose and no copy out of PSUM."
            )
            place = see(module, "the load", made.node if made is not None else None)
            yield operation.statement, text, place


def _feeds_product(flow: Flow, operation: Operation) -> bool:
    """Whether a result goes into a matmul, through copies and what is applied to each element."""
    pending, seen = _outputs(operation), set[Storage]()
    while pending:
        storage = pending.pop()
        seen.add(storage)
        for reader in reads_of(flow).get(storage, ()):
            if reader.name in _MATMULS and not _is_transpose(reader):
                return True
            if reader.name in _PASSED_ON:
                pending |= _outputs(reader) - seen
    return False


def _outputs(operation: Operation) -> set[Storage]:
    made = {operation.result.storage} if operation.result is not None else set()
    return made | {view.storage for view in operation.writes}
