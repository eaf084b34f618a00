"""Iterations that are promised to be independent, and programs, that write the same memory."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    is_loop_running,
    nki_detector,
    older,
    see,
    shown,
)
from tilewright.analysis.nki import (
    Affine,
    Flow,
    Index,
    Loop,
    LoopKind,
    Memory,
    Operation,
    Symbol,
    SymbolKind,
    View,
)
from tilewright.analysis.nki.affine import ONE
from tilewright.analysis.nki.catalogue import ISA, NL
from tilewright.analysis.nki.model import Comparison, IndexKind, Origin
from tilewright.source.model import Module

_STORES = (NL + "store", ISA + "dma_copy")
_SKIPPED = ("call", "forget", "collect", "return")


@nki_detector("nki_affine_range_write_conflict", older)
def affine_range_write_conflict(module: Module, flow: Flow) -> Reports:
    for operation, view, loop in _conflicts(flow):
        if _read_before(flow, operation, view, loop) is None:
            text = (
                f"Different iterations of the affine_range over {_index(loop)} write the same "
                f"part of {view.storage.name}: the loop promises that they are independent, "
                f"and the compiler rejects it or keeps any of the values."
            )
            place = see(module, "the loop", _head(loop))
            yield operation.statement, text, place


@nki_detector("nki_affine_range_carried_read", older)
def affine_range_carried_read(module: Module, flow: Flow) -> Reports:
    for operation, view, loop in (*_conflicts(flow), *_shifted(flow)):
        read = _read_before(flow, operation, view, loop)
        if read is not None:
            text = (
                f"{view.storage.name} is read here before this iteration of the affine_range "
                f"over {_index(loop)} writes it, so it carries a value from one iteration to "
                f"the next, in an order that affine_range does not promise."
            )
            place = see(module, "the loop", _head(loop))
            yield read.statement, text, place


def _head(loop: Loop) -> ast.expr | None:
    return loop.node.iter if isinstance(loop.node, ast.For) else None


def _index(loop: Loop) -> str:
    return "its index" if loop.symbol is None else loop.symbol.name


def _conflicts(flow: Flow) -> Iterator[tuple[Operation, View, Loop]]:
    """Writes that two iterations of an affine loop make to the same place, the outermost loop."""
    for operation, view in _plain_writes(flow):
        for loop in _affine_loops(flow, operation, view):
            if _overlap(flow, view, loop):
                yield operation, view, loop
                break


def conflicting_loops(flow: Flow) -> list[Loop]:
    """The affine loops that write the same place twice, or read what another iteration writes."""
    found = [loop for _, _, loop in (*_conflicts(flow), *_shifted(flow))]
    return list(dict.fromkeys(found))


def _plain_writes(flow: Flow) -> Iterator[tuple[Operation, View]]:
    for operation in flow.operations:
        if operation.accumulates or operation.branches or operation.name in _SKIPPED:
            continue
        for view in operation.writes:
            yield operation, view


def _affine_loops(flow: Flow, operation: Operation, view: View) -> Iterator[Loop]:
    for loop in operation.loops:
        if loop.kind is not LoopKind.AFFINE or loop in view.storage.loops:
            continue
        if loop.symbol is None or not is_loop_running(flow, loop):
            continue
        if not _masked_by(flow, operation, loop):
            yield loop


def _masked_by(flow: Flow, operation: Operation, loop: Loop) -> bool:
    """Whether the mask may leave so few iterations that they do not meet."""
    if operation.mask is None or loop.symbol is None:
        return False
    if operation.mask.parts is None:
        return True
    for part in operation.mask.parts:
        if loop.symbol in part.value.symbols and not _leaves_several(flow, part, loop):
            return True
    return False


def _leaves_several(flow: Flow, part: Comparison, loop: Loop) -> bool:
    """``i < trip - 1`` and the like: all iterations but the last one or two."""
    if part.equality or loop.trip is None or loop.symbol is None:
        return False
    trip = flow.number(loop.trip)
    dropped = flow.number(loop.trip - ONE - part.value - Affine.from_value(loop.symbol))
    return dropped is not None and dropped <= 2 and (trip is None or trip - dropped >= 2)


def _overlap(flow: Flow, view: View, loop: Loop) -> bool:
    """Whether the parts written in one iteration and the next share an element for sure."""
    if view.indices is None or loop.symbol is None:
        return False
    shifts = [_shift(index, loop.symbol) for index in view.indices]
    if all(shift == 0 for shift in shifts):
        return True
    if flow.number(loop.trip) is None:
        return False
    return all(
        shift is not None and _meets(flow, index, shift)
        for index, shift in zip(view.indices, shifts, strict=True)
    )


def _shift(index: Index, symbol: Symbol) -> int | None:
    """How far the index moves from one iteration to the next."""
    if index.kind is IndexKind.FULL:
        return 0
    if index.base is None or index.kind is IndexKind.UNKNOWN:
        return None
    coefficient = index.base.coefficient(symbol)
    return None if coefficient is None else coefficient.number


def _meets(flow: Flow, index: Index, shift: int) -> bool:
    if shift == 0:
        return True
    if index.base is None:
        return False
    for lane in index.lanes:
        extent = flow.number(lane.extent)
        coefficient = index.base.coefficient(lane)
        if extent is not None and coefficient == Affine.from_value(1) and abs(shift) < extent:
            return True
    return False


def _read_before(flow: Flow, operation: Operation, view: View, loop: Loop) -> Operation | None:
    """A read of the same tensor in the same loop, earlier in the iteration."""
    for read in flow.operations:
        if read.order >= operation.order:
            return None
        if loop not in read.loops or read.name in _SKIPPED or read.order < loop.number:
            continue
        if any(part.storage is view.storage for part in read.reads):
            return None if _written_earlier(flow, read, view, loop) else read
    return None


def _written_earlier(flow: Flow, read: Operation, view: View, loop: Loop) -> bool:
    return any(
        write.order < read.order
        and loop in write.loops
        and any(part.storage is view.storage for part in write.writes)
        for write in flow.operations
    )


def _shifted(flow: Flow) -> Iterator[tuple[Operation, View, Loop]]:
    """Writes at the loop's index where another iteration's element is read."""
    for operation, view in _plain_writes(flow):
        for loop in _affine_loops(flow, operation, view):
            if not _overlap(flow, view, loop) and _reads_neighbour(flow, operation, view, loop):
                yield operation, view, loop
                break


def _reads_neighbour(flow: Flow, operation: Operation, view: View, loop: Loop) -> bool:
    for read in flow.operations:
        if read.order >= operation.order or loop not in read.loops or read.branches:
            continue
        for part in read.reads:
            if part.storage is view.storage and _differs_by_iterations(part, view, loop):
                return True
    return False


def _differs_by_iterations(read: View, write: View, loop: Loop) -> bool:
    """The same indices, but for a whole number of iterations along one dimension."""
    if read.indices is None or write.indices is None or loop.symbol is None:
        return False
    if len(read.indices) != len(write.indices):
        return False
    moved = []
    for one, two in zip(read.indices, write.indices, strict=True):
        if one == two:
            continue
        if one.kind is not IndexKind.POINT or two.kind is not IndexKind.POINT:
            return False
        assert one.base is not None
        assert two.base is not None
        distance, step = (one.base - two.base).number, _shift(two, loop.symbol)
        if not distance or not step or distance % step:
            return False
        moved.append(distance)
    return len(moved) == 1


@nki_detector("nki_spmd_write_overlap")
def spmd_write_overlap(module: Module, flow: Flow) -> Reports:
    if not flow.program:
        return
    for operation in flow.operations:
        if operation.name not in _STORES or operation.branches:
            continue
        for view in operation.writes:
            if _by_every_program(flow, operation, view):
                text = (
                    f"Every program of the launch grid writes {shown(module, view)}: no index "
                    f"of it depends on {_programs(flow)}, so they race for the same memory."
                )
                yield operation.statement, text


def _programs(flow: Flow) -> str:
    return " or ".join(symbol.name for symbol in flow.program.values())


def _by_every_program(flow: Flow, operation: Operation, view: View) -> bool:
    storage = view.storage
    shared = storage.shared or storage.origin is Origin.PARAMETER
    if storage.memory is not Memory.HBM or not shared or view.indices is None:
        return False
    if operation.mask is not None or "dst_rmw_op" in operation.given:
        return False
    if any(index.kind is IndexKind.UNKNOWN for index in view.indices):
        return False
    symbols = {s for i in view.indices if i.base is not None for s in i.base.symbols}
    return not any(_from_program(symbol) for symbol in symbols) and not _in_program_loop(operation)


def _from_program(symbol: Symbol) -> bool:
    if symbol.kind is SymbolKind.PROGRAM:
        return True
    return any(part.kind is SymbolKind.PROGRAM for part in symbol.depends)


def _in_program_loop(operation: Operation) -> bool:
    return any(
        loop.symbol is None
        or (loop.trip is not None and any(map(_from_program, loop.trip.symbols)))
        for loop in operation.loops
    )
