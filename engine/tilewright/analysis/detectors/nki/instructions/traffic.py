"""Loads that are superfluous, repeated, or small."""

import ast
from collections.abc import Iterator
from functools import lru_cache
from math import prod

from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    dims,
    is_loop_running,
    nki_detector,
    reads_of,
    results_of,
    same_mask,
    see,
    shown,
    writes_of,
)
from tilewright.analysis.nki import Flow, Loop, Memory, Operation, Storage, Symbol, View
from tilewright.analysis.nki.catalogue import DTYPE_BYTES, FUNCTIONS, ISA, NL
from tilewright.analysis.nki.model import IndexKind, Origin
from tilewright.source.model import Module

_LOADS = (NL + "load", ISA + "dma_copy")
_SMALL = 256
_NO_COMPUTE = ("call", "forget", "collect", "return", "assign")


def loads(flow: Flow) -> Iterator[tuple[Operation, View]]:
    """Loads from HBM to a tile, with the part they read."""
    for operation in flow.operations:
        source = operation.operands.get("src")
        if operation.name not in _LOADS or source is None or source.memory is not Memory.HBM:
            continue
        target = operation.operands.get("dst")
        if operation.name == NL + "load" or (target is not None and target.storage.on_chip):
            yield operation, source


@nki_detector("nki_dead_tile")
def dead_tile(module: Module, flow: Flow) -> Reports:
    for storage, operation in _unread(flow):
        name = storage.name if storage.name != "tile" else f"The result of {operation.short}"
        text = (
            f"{name} is computed here and nothing reads it, so the {_work(operation)} and its "
            f"place in {storage.memory} are spent for nothing."
        )
        yield operation.statement, text


def _work(operation: Operation) -> str:
    return "transfer" if operation.name in _LOADS else "instruction"


def _unread(flow: Flow) -> Iterator[tuple[Storage, Operation]]:
    passed = _passed(flow)
    for storage in flow.storages:
        if not storage.on_chip or reads_of(flow).get(storage) or storage in passed:
            continue
        writes = writes_of(flow).get(storage, ())
        made = results_of(flow).get(storage)
        first = made if made is not None else next(iter(writes), None)
        if first is None or (isinstance(first.statement, ast.Expr) and made is not None):
            continue
        if any(w.name in _NO_COMPUTE[:4] or "reduce_res" in w.given for w in writes):
            continue
        if not any(len(_effects(operation)) > 1 for operation in (first, *writes)):
            yield storage, first


def _passed(flow: Flow) -> set[Storage]:
    """Tensors that are arguments of functions of the file: these may use them on another path."""
    return {
        value.storage
        for call in flow.calls
        if call.dotted not in FUNCTIONS
        for value in (*call.positional, *call.keywords.values())
        if isinstance(value, View)
    }


def _effects(operation: Operation) -> set[Storage]:
    made = {operation.result.storage} if operation.result is not None else set()
    made |= {view.storage for view in operation.writes}
    if operation.source is not None:
        made |= {view.storage for view in operation.source.writes}
    return made


@nki_detector("nki_redundant_load")
def redundant_load(module: Module, flow: Flow) -> Reports:
    for operation, earlier in repeated_loads(flow).items():
        text = (
            f"{shown(module, operation.operands['src'])} was loaded before and HBM has not "
            f"changed since; the tile that is there already can be used."
        )
        place = see(module, "the first load", earlier.node)
        yield operation.statement, text, place


@lru_cache(maxsize=64)
def repeated_loads(flow: Flow) -> dict[Operation, Operation]:
    """Loads of what is loaded already, each with the load before."""
    seen: dict[object, Operation] = {}
    again: dict[Operation, Operation] = {}
    for operation, source in loads(flow):
        if source.storage.origin is Origin.CONSTANT or source.indices is None:
            continue
        key = (source.storage, source.indices, str(operation.values.get("dtype")))
        earlier = seen.setdefault(key, operation)
        if earlier is operation or _stored(flow, source.storage):
            continue
        if _covers(earlier, operation):
            again[operation] = earlier
    return again


def _covers(earlier: Operation, later: Operation) -> bool:
    """Whether the earlier load has always run, with the same indices, when the later one does."""
    same = later.loops[: len(earlier.loops)] == earlier.loops
    branch = later.branches[: len(earlier.branches)] == earlier.branches
    return same and branch and same_mask(earlier.mask, later.mask)


def _stored(flow: Flow, storage: Storage) -> bool:
    return bool(writes_of(flow).get(storage))


@nki_detector("nki_loop_invariant_load")
def loop_invariant_load(module: Module, flow: Flow) -> Reports:
    for operation, source in loads(flow):
        loop = None if operation in repeated_loads(flow) else _invariant_in(flow, operation, source)
        if loop is not None and loop.symbol is not None:
            trip = flow.number(loop.trip)
            times = "in every iteration" if trip is None else f"{trip} times"
            text = (
                f"{shown(module, source)} does not depend on {loop.symbol.name}, and the loop "
                f"over it loads the same data from HBM {times}."
            )
            yield operation.statement, text


def _invariant_in(flow: Flow, operation: Operation, source: View) -> Loop | None:
    """The innermost loop, if the load does not depend on it."""
    if not operation.loops or operation.branches:
        return None
    loop = operation.loops[-1]
    if loop.symbol is None or not is_loop_running(flow, loop) or _stored(flow, source.storage):
        return None
    symbols = index_symbols(flow, operation, source)
    if symbols is None or loop.symbol in symbols:
        return None
    return loop if _fixed(flow, operation, loop) else None


def index_symbols(flow: Flow, operation: Operation, source: View) -> set[Symbol] | None:
    """What the indices and the mask of a load depend on; None where that is not known."""
    if operation.mask is not None and operation.mask.symbols is None:
        return None
    symbols: set[Symbol] = (
        set(operation.mask.symbols or ()) if operation.mask is not None else set()
    )
    if source.indices is None:
        # All of a tensor in another shape.
        return symbols if _is_reshaped(source.node) else None
    for index in source.indices:
        if index.kind is IndexKind.UNKNOWN:
            return None
        symbols |= index.base.symbols if index.base is not None else set()
    return symbols


def _is_reshaped(node: ast.AST | None) -> bool:
    """``x.reshape((1, columns))`` of a name: no loop's index can be in it but in the shape."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "reshape"
        and isinstance(node.func.value, ast.Name)
    )


def _fixed(flow: Flow, operation: Operation, loop: Loop) -> bool:
    """Whether what is loaded stays as it is in the loop: nothing else writes to it there."""
    target = operation.operands.get("dst")
    storage = target.storage if target is not None else None
    if operation.result is not None:
        storage = operation.result.storage
    if storage is None:
        return False
    others = [w for w in writes_of(flow).get(storage, ()) if w is not operation]
    return not any(loop in write.loops for write in others)


@nki_detector("nki_reloaded_store")
def reloaded_store(module: Module, flow: Flow) -> Reports:
    for operation, source in loads(flow):
        tile = stored_tile(flow, operation)
        if tile is not None:
            text = (
                f"{shown(module, source)} was stored in the same iteration from {tile[0]}, "
                f"which still holds it; the transfer back is not needed."
            )
            place = see(module, "the store", tile[2].node)
            yield operation.statement, text, place


def stored_tile(flow: Flow, operation: Operation) -> tuple[str, View, Operation] | None:
    """The name and tile that the same part of HBM was stored from before a load, and the store."""
    source = operation.operands.get("src")
    if source is None or source.indices is None or source.storage.origin is Origin.PARAMETER:
        return None
    writes = writes_of(flow).get(source.storage, ())
    if len(writes) != 1 or writes[0].order > operation.order or not flow.complete:
        return None
    store = writes[0]
    kept = store.operands.get("dst")
    value = store.operands.get("value", store.operands.get("src"))
    node = store.given.get("value", store.given.get("src"))
    if kept is None or value is None or not isinstance(node, ast.Name):
        return None
    here = store.loops == operation.loops and store.branches == operation.branches
    alike = kept.indices == source.indices and same_mask(store.mask, operation.mask)
    whole = value.indices == () and value.storage.on_chip and value.memory is Memory.SBUF
    return (node.id, value, store) if here and alike and whole else None


@nki_detector("nki_small_dma")
def small_dma(module: Module, flow: Flow) -> Reports:
    for operation, source in loads(flow):
        running = [loop for loop in operation.loops if is_loop_running(flow, loop)]
        size = _bytes(flow, operation, source)
        if not running or size is None or size >= _SMALL:
            continue
        text = (
            f"Each iteration moves {size} contiguous bytes for each partition of "
            f"{shown(module, source)}; below about 2 KiB the fixed cost of a DMA packet "
            f"outweighs the bytes."
        )
        yield operation.statement, text


def _bytes(flow: Flow, operation: Operation, source: View) -> int | None:
    """Bytes in a row for each partition; at most, where the type is not known."""
    target = operation.result if operation.result is not None else operation.operands.get("dst")
    sides = dims(flow, target)
    if sides is None or len(sides) < 2 or (sides[0] is not None and sides[0] < 2):
        return None
    free = [side for side in sides[1:] if side is not None]
    dtype = source.dtype or (target.dtype if target is not None else None)
    whole = len(free) == len(sides) - 1
    return prod(free) * DTYPE_BYTES.get(dtype or "float32", 4) if whole else None
